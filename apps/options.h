// Options that several commands share, and the only reader of the environment.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "server/model_manager.h"

namespace sluice::apps {

// Host and port of a server, from SLUICE_HOST or OLLAMA_HOST ("127.0.0.1:11434").
struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 11434;
};
Address default_address();

// SLUICE_MODELS, OLLAMA_MODELS or ~/.sluice/models.
std::filesystem::path models_folder();

// Adds --threads, --backend, --max-model-len and the other options of the engine.
void add_load_options(CLI::App& command, server::LoadOptions& options, std::string& kv_type);
// After parsing.
void finish_load_options(server::LoadOptions& options, const std::string& kv_type);

// A path of a model, or empty when `model` is a name of the store.
std::filesystem::path as_path(const std::string& model);

// Progress bar on a terminal's standard error.
void show_progress(const char* what, std::uint64_t done, std::uint64_t total);
// The same for a load that nothing stops.
bool loading_progress(std::uint64_t done, std::uint64_t total);

}  // namespace sluice::apps
