// `sluice import`: a GGUF file becomes a named model of the store.
#include <cstdio>
#include <stdexcept>

#include "apps/commands.h"
#include "apps/options.h"

namespace sluice::apps {

void add_import(CLI::App& app) {
  struct Options {
    std::string file, name, sha256;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("import", "copy a GGUF file into the model store under a name");
  command->add_option("file", options->file, "GGUF file")->required()->check(CLI::ExistingFile);
  command->add_option("name", options->name, "MODEL[:TAG]")->required();
  command->add_option("--sha256", options->sha256, "digest the file must have, 64 hex digits");
  command->callback([options] {
    const auto name = store::parse_name(options->name);
    if (!name) throw std::runtime_error(name.error().message);
    const store::ModelStore store(models_folder());
    const auto done = store.import_gguf(
        options->file, *name, options->sha256,
        [](std::uint64_t part, std::uint64_t all) { show_progress("importing", part, all); });
    if (!done) throw std::runtime_error(done.error().message);
    std::printf("imported %s\n", name->display().c_str());
  });
}

}  // namespace sluice::apps
