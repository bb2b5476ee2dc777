// The default model against llama.cpp, teacher-forced (tests/golden/llama_cpp): every table the host has.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernels/select.h"
#include "backend/quant_formats.h"
#include "base/compute_pool.h"
#include "base/json.h"
#include "model/loader.h"
#include "model/model_runner.h"

namespace sluice::model {
namespace {

const std::string kRoot = SLUICE_SOURCE_DIR;
constexpr double kGapMax = 0.05;  // a difference is only allowed where llama.cpp itself hesitates

std::unique_ptr<ModelRunner> load_default(std::shared_ptr<backend::Backend> backend) {
  auto checkpoint = weights::Checkpoint::open(kRoot + "/build/assets/SmolLM2-135M-Instruct.Q4_1.gguf");
  EXPECT_TRUE(checkpoint) << checkpoint.error().message << ": run tools/fetch_assets.sh";
  auto config = read_config(*checkpoint);
  EXPECT_TRUE(config) << config.error().message;
  auto weights = load_weights(*checkpoint, *config, *backend, nullptr);
  EXPECT_TRUE(weights) << weights.error().message;
  const backend::KVShape kv{config->layers, 16, config->kv_heads, config->head_dim, backend::KVFormat::kF32};
  return std::make_unique<ModelRunner>(backend, *config, std::move(*weights), kv, 256);
}

// All tokens of one sequence in one step, with the logits of the rows from `first` on.
StepInput one_step(const std::vector<std::int32_t>& tokens, std::size_t first) {
  StepInput step;
  step.token_ids = tokens;
  step.positions.resize(tokens.size());
  std::iota(step.positions.begin(), step.positions.end(), 0);
  step.slots.assign(step.positions.begin(), step.positions.end());
  step.query_starts = {0, static_cast<std::int32_t>(tokens.size())};
  step.context_lengths = {static_cast<std::int32_t>(tokens.size())};
  step.block_tables.resize(16);
  std::iota(step.block_tables.begin(), step.block_tables.end(), 0);
  step.blocks_per_sequence_max = 16;
  for (std::size_t i = first; i < tokens.size(); ++i) step.logit_rows.push_back(static_cast<std::int32_t>(i));
  return step;
}

struct Agreement {
  std::size_t equal = 0;
  std::size_t total = 0;
  std::size_t unexcused = 0;  // differences where llama.cpp does not hesitate
};

Agreement compare(ModelRunner& runner, std::size_t cases_max) {
  std::ifstream file(kRoot + "/tests/golden/llama_cpp/smollm2.json");
  std::ostringstream text;
  text << file.rdbuf();
  const auto cases = json::parse(text.str());
  Agreement result;
  for (std::size_t c = 0; cases && c < std::min(cases_max, cases->get_array().size()); ++c) {
    const json::value& item = cases->get_array()[c];
    std::vector<std::int32_t> tokens;
    for (const char* part : {"prompt", "answer"})
      for (const json::value& id : item.at(part).get_array())
        tokens.push_back(static_cast<std::int32_t>(id.get_int64()));
    const auto& gaps = item.at("gap").get_array();
    const auto vocabulary = static_cast<std::ptrdiff_t>(runner.config().vocabulary);
    const std::size_t first = tokens.size() - gaps.size() - 1;
    const auto logits = runner.logits(one_step({tokens.begin(), tokens.end() - 1}, first));
    for (std::size_t i = 0; i < gaps.size(); ++i, ++result.total) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i) * vocabulary;
      if (std::max_element(row, row + vocabulary) - row == item.at("top").get_array()[i].get_int64()) {
        ++result.equal;
      } else if (gaps[i].to_number<double>() >= kGapMax) {
        ++result.unexcused;
      }
    }
  }
  return result;
}

// Packs every matrix as F32, so that activations are not rounded to 8 bits.
class DequantisingBackend : public backend::cpu::CpuBackend {
 public:
  using CpuBackend::CpuBackend;
  std::unique_ptr<backend::Weight> prepare(std::span<const backend::RowSegment> segments,
                                           std::size_t columns) override {
    std::vector<std::vector<float>> values;
    std::vector<backend::RowSegment> plain;
    for (const backend::RowSegment& segment : segments) {
      std::vector<float>& rows = values.emplace_back(segment.rows * columns);
      for (std::size_t r = 0; r < segment.rows; ++r) {
        const std::size_t stride = backend::row_bytes(segment.format, columns);
        backend::dequantize_row(segment.format, segment.values.data() + r * stride, columns,
                                rows.data() + r * columns);
      }
      plain.push_back({std::as_bytes(std::span(rows)), backend::DType::kF32, segment.rows, {}});
    }
    return CpuBackend::prepare(plain, columns);
  }
};

TEST(LlamaCpp, TopTokensAgreeInF32) {
  auto pool = std::make_shared<ComputePool>(2);
  const auto runner =
      load_default(std::make_shared<DequantisingBackend>(backend::cpu::select_table("auto"), pool));
  const Agreement result = compare(*runner, 20);
  std::printf("F32: %zu of %zu top tokens equal\n", result.equal, result.total);
  EXPECT_EQ(result.total, 1280U);
  EXPECT_GE(result.equal, result.total * 98 / 100);
  EXPECT_EQ(result.unexcused, 0U);
}

// With 8-bit activations: as near to F32 as llama.cpp's own are (1,251 of 1,280).
TEST(LlamaCpp, QuantisedTopTokensAreAsNearAsTheirs) {
  for (const backend::cpu::KernelTable* table : backend::cpu::available_tables()) {
    const bool is_slow = std::string(table->name) == "scalar";
    const auto runner = load_default(backend::make_backend(table->name, 2));
    const Agreement result = compare(*runner, is_slow ? 1 : 20);
    std::printf("%s: %zu of %zu top tokens equal\n", table->name, result.equal, result.total);
    EXPECT_GE(result.equal, result.total * 97 / 100);
  }
}

}  // namespace
}  // namespace sluice::model
