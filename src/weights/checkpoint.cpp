#include "weights/checkpoint.h"

#include <fstream>
#include <sstream>

namespace sluice::weights {
namespace {

// GGUF's names for the parts of a layer, and Hugging Face's.
constexpr std::pair<const char*, const char*> kLayerNames[] = {
    {"attn_norm", "input_layernorm"},    {"ffn_norm", "post_attention_layernorm"},
    {"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},      {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

std::string hugging_face_name(const std::string& name) {
  if (name == "token_embd.weight") return "model.embed_tokens.weight";
  if (name == "output.weight") return "lm_head.weight";
  if (name == "output_norm.weight") return "model.norm.weight";
  if (name.rfind("blk.", 0) != 0) return name;
  const std::size_t layer_end = name.find('.', 4);
  const std::size_t part_end = name.rfind('.');
  if (layer_end == std::string::npos || part_end <= layer_end) return name;
  const std::string part = name.substr(layer_end + 1, part_end - layer_end - 1);
  for (const auto& [ours, theirs] : kLayerNames) {
    if (part == ours)
      return "model.layers." + name.substr(4, layer_end - 4) + "." + theirs + name.substr(part_end);
  }
  return name;
}

std::string read_text(const std::filesystem::path& path) {
  constexpr std::uintmax_t kTextBytesMax = std::uintmax_t{256} << 20;
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > kTextBytesMax) return {};
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return std::move(text).str();
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::filesystem::path& path) {
  Checkpoint checkpoint;
  if (!std::filesystem::is_directory(path)) {
    SLUICE_TRY(GgufFile file, GgufFile::open(path));
    checkpoint.gguf_ = std::make_unique<GgufFile>(std::move(file));
    for (const StoredTensor& tensor : checkpoint.gguf_->tensors()) {
      const std::string name = hugging_face_name(tensor.name);
      if (checkpoint.has(name))
        return fail(ErrorCode::kInvalidArgument, "{}: {} is stored twice", path.string(), name);
      checkpoint.add(tensor, name, checkpoint.gguf_->file());
    }
    return checkpoint;
  }
  checkpoint.folder_ = path;
  const std::string config = checkpoint.side_file("config.json");
  if (config.empty())
    return fail(ErrorCode::kNotFound, "{}: no config.json: not a model folder", path.string());
  auto parsed = json::parse(config);
  if (!parsed || !parsed->is_object())
    return fail(ErrorCode::kInvalidArgument, "{}/config.json: not a JSON object", path.string());
  checkpoint.config_ = parsed->get_object();
  SLUICE_TRY(const auto files, safetensors_files(path));
  for (const auto& file : files) {
    SLUICE_TRY(SafetensorsFile shard, SafetensorsFile::open(file));
    checkpoint.shards_.push_back(std::make_unique<SafetensorsFile>(std::move(shard)));
    for (const StoredTensor& tensor : checkpoint.shards_.back()->tensors()) {
      if (checkpoint.has(tensor.name)) {
        return fail(ErrorCode::kInvalidArgument, "{}: tensor {} appears twice", file.string(), tensor.name);
      }
      checkpoint.add(tensor, tensor.name, checkpoint.shards_.back()->file());
    }
  }
  return checkpoint;
}

void Checkpoint::add(const StoredTensor& tensor, const std::string& name, const MmapFile& file) {
  tensors_.emplace(name, Entry{tensor, &file});
}

std::string Checkpoint::side_file(const char* name) const {
  return folder_.empty() ? "" : read_text(folder_ / name);
}

Result<StoredTensor> Checkpoint::take(const std::string& name, const std::vector<std::uint64_t>& shape) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected {}, the files have no such tensor", name,
                shape_text(shape));
  }
  const StoredTensor& tensor = found->second.tensor;
  if (tensor.shape != shape) {
    return fail(ErrorCode::kInvalidArgument, "{}: expected {}, the file has {} {}", name, shape_text(shape),
                backend::traits(tensor.type).name, shape_text(tensor.shape));
  }
  taken_.insert(name);
  return tensor;
}

Status Checkpoint::check_all_taken() const {
  std::string extra;
  for (const auto& [name, entry] : tensors_) {
    // Buffers that some exporters store although they follow from the configuration.
    const bool derived = name.find("rotary_emb.inv_freq") != std::string::npos;
    if (taken_.count(name) == 0 && !derived && extra.size() < 200) extra += " " + name;
  }
  if (extra.empty()) return {};
  return fail(ErrorCode::kInvalidArgument, "the files hold tensors that this architecture does not use:{}",
              extra);
}

void Checkpoint::discard(const StoredTensor& tensor) const {
  for (const auto& [name, entry] : tensors_) {
    if (entry.tensor.bytes.data() == tensor.bytes.data()) entry.file->discard(tensor.bytes);
  }
}

std::uint64_t Checkpoint::weight_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, entry] : tensors_) bytes += entry.tensor.bytes.size();
  return bytes;
}

std::uint64_t Checkpoint::parameters() const {
  std::uint64_t count = 0;
  for (const auto& [name, entry] : tensors_) {
    std::uint64_t elements = 1;
    for (const std::uint64_t size : entry.tensor.shape) elements *= size;
    count += elements;
  }
  return count;
}

}  // namespace sluice::weights
