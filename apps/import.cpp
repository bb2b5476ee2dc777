// `sluice import`: a GGUF file becomes a named model of the store.
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <stdexcept>

#include "apps/commands.h"
#include "apps/options.h"
#include "base/json.h"
#include "server/request_defaults.h"

namespace sluice::apps {

namespace {

// "temperature=0.2" becomes {"temperature": 0.2}; a value that is no JSON is a string.
std::string params_json(const std::vector<std::string>& parameters) {
  json::object params;
  for (const std::string& parameter : parameters) {
    const std::size_t mark = parameter.find('=');
    if (mark == std::string::npos || mark == 0)
      throw std::runtime_error("--parameter must be NAME=VALUE, got " + parameter);
    const std::string value = parameter.substr(mark + 1);
    const auto parsed = json::parse(value);
    params[parameter.substr(0, mark)] = parsed ? *parsed : json::value(value);
  }
  return params.empty() ? std::string() : boost::json::serialize(params);
}

struct Options {
  std::string file, name;
  std::vector<std::string> parameters;
  store::ImportOptions import;
};

void run_import(Options options) {
  const auto name = store::parse_name(options.name);
  if (!name) throw std::runtime_error(name.error().message);
  options.import.params_json = params_json(options.parameters);
  if (const auto checked = server::read_model_layers(options.import.params_json, {}); !checked)
    throw std::runtime_error(checked.error().message);
  options.import.progress = [](std::uint64_t part, std::uint64_t all) {
    show_progress("importing", part, all);
  };
  const auto done = store::ModelStore(models_folder()).import_gguf(options.file, *name, options.import);
  if (!done) throw std::runtime_error(done.error().message);
  std::printf("imported %s\n", name->display().c_str());
}

}  // namespace

void add_import(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("import", "copy a GGUF file into the model store under a name");
  command->add_option("file", options->file, "GGUF file")->required()->check(CLI::ExistingFile);
  command->add_option("name", options->name, "MODEL[:TAG]")->required();
  command->add_option("--sha256", options->import.sha256, "digest the file must have, 64 hex digits");
  command->add_option("--parameter", options->parameters,
                      "NAME=VALUE that requests start from, as Modelfile's PARAMETER; may be repeated");
  command->footer("Example:\n  sluice import Qwen3-0.6B-Q8_0.gguf qwen3:0.6b --parameter temperature=0.6");
  command->callback([options] { run_import(*options); });
}

}  // namespace sluice::apps
