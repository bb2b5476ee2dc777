// Random models of all three architectures against HF transformers (tests/golden/model) on every back end of
// the host, the reference included, and both file forms of one model against each other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "base/json.h"
#include "model/loader.h"
#include "model/model_runner.h"

namespace sluice::model {
namespace {

const std::string kFolder = std::string(SLUICE_SOURCE_DIR) + "/tests/golden/model/";
constexpr double kF32ErrorMax = 2e-3;

json::object read_expected() {
  std::ifstream file(kFolder + "expected.json");
  std::ostringstream text;
  text << file.rdbuf();
  return json::parse(text.str())->get_object();
}

// Log-probabilities [T, V] of all tokens in one step.
std::vector<double> logprobs(const std::string& path, const std::vector<std::int32_t>& tokens,
                             std::string_view backend_name = "auto") {
  auto checkpoint = weights::Checkpoint::open(path);
  EXPECT_TRUE(checkpoint) << checkpoint.error().message;
  auto config = read_config(*checkpoint);
  EXPECT_TRUE(config) << config.error().message;
  std::shared_ptr<backend::Backend> backend = backend::make_backend(backend_name, 2);
  auto weights = load_weights(*checkpoint, *config, *backend, nullptr);
  EXPECT_TRUE(weights) << weights.error().message;
  const backend::KVShape kv{config->layers, 2, config->kv_heads, config->head_dim, backend::KVFormat::kF32};
  ModelRunner runner(backend, *config, std::move(*weights), kv, tokens.size());
  StepInput step;
  step.token_ids = tokens;
  step.positions.resize(tokens.size());
  std::iota(step.positions.begin(), step.positions.end(), 0);
  step.slots.assign(step.positions.begin(), step.positions.end());
  step.logit_rows = step.positions;
  step.query_starts = {0, static_cast<std::int32_t>(tokens.size())};
  step.context_lengths = {static_cast<std::int32_t>(tokens.size())};
  step.block_tables = {0, 1};
  step.blocks_per_sequence_max = 2;
  const auto logits = runner.logits(step);
  std::vector<double> result(logits.begin(), logits.end());
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    double sum = 0;
    for (std::size_t v = 0; v < config->vocabulary; ++v)
      sum += std::exp(result[row * config->vocabulary + v]);
    for (std::size_t v = 0; v < config->vocabulary; ++v)
      result[row * config->vocabulary + v] -= std::log(sum);
  }
  return result;
}

std::vector<std::int32_t> tokens_of(const json::object& entry) {
  std::vector<std::int32_t> tokens;
  for (const json::value& id : entry.at("tokens").get_array())
    tokens.push_back(static_cast<std::int32_t>(id.get_int64()));
  return tokens;
}

class ModelGolden : public testing::TestWithParam<std::string> {};

TEST_P(ModelGolden, AgreesWithTransformers) {
  std::size_t models = 0;
  for (const auto& [name, value] : read_expected()) {
    const json::object& entry = value.get_object();
    const auto got = logprobs(kFolder + std::string(name), tokens_of(entry), GetParam());
    double worst = 0;
    std::size_t i = 0;
    for (const json::value& row : entry.at("logprobs").get_array())
      for (const json::value& x : row.get_array())
        worst = std::max(worst, std::abs(x.to_number<double>() - got.at(i++)));
    const json::value* own_error = entry.if_contains("bf16_error");
    const double limit = own_error != nullptr ? 2 * own_error->to_number<double>() : kF32ErrorMax;
    std::printf("%-24s largest log-probability error %.2e, limit %.2e\n", std::string(name).c_str(), worst,
                limit);
    EXPECT_LE(worst, limit) << std::string_view(name);
    EXPECT_EQ(i, got.size());
    ++models;
  }
  EXPECT_GE(models, 8U);
}

INSTANTIATE_TEST_SUITE_P(Backends, ModelGolden, testing::ValuesIn(backend::backend_names()),
                         [](const auto& info) { return info.param; });

TEST(ModelFiles, BothFileFormsOfOneModelAgree) {
  const json::object expected = read_expected();
  for (const std::string name : {"qwen3", "llama"}) {
    const auto tokens = tokens_of(expected.at(name).get_object());
    EXPECT_EQ(logprobs(kFolder + name, tokens), logprobs(kFolder + name + ".gguf", tokens)) << name;
  }
}

// A copy of a folder whose config.json has one field replaced.
std::filesystem::path changed_copy(const std::string& name, const char* key, const json::value& value) {
  const auto copy =
      std::filesystem::temp_directory_path() / ("sluice_model_test_" + std::to_string(::getpid()));
  std::filesystem::remove_all(copy);
  std::filesystem::copy(kFolder + name, copy);
  std::ifstream file(copy / "config.json");
  std::ostringstream text;
  text << file.rdbuf();
  json::object config = json::parse(text.str())->get_object();
  config[key] = value;
  std::ofstream(copy / "config.json", std::ios::trunc) << boost::json::serialize(config);
  return copy;
}

TEST(ModelConfig, RefusesWhatWouldBeSilentlyWrong) {
  const std::pair<const char*, json::value> cases[] = {
      {"hidden_act", "gelu"},       {"use_sliding_window", true},  {"rms_norm_eps", -1},
      {"num_hidden_layers", 0},     {"num_attention_heads", 1e30}, {"model_type", "gpt2"},
      {"tie_word_embeddings", true}};
  for (const auto& [key, value] : cases) {
    const auto folder = changed_copy("qwen3", key, value);
    auto checkpoint = weights::Checkpoint::open(folder);
    ASSERT_TRUE(checkpoint);
    const bool is_fine = std::string(key) == "tie_word_embeddings";  // a stored head wins (field report F031)
    EXPECT_EQ(read_config(*checkpoint).has_value(), is_fine) << key;
    std::filesystem::remove_all(folder);
  }
  const auto folder = changed_copy("qwen3_tied_gqa8_bf16", "tie_word_embeddings", false);
  auto checkpoint = weights::Checkpoint::open(folder);
  EXPECT_NE(read_config(*checkpoint).error().message.find("lm_head"), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice::model
