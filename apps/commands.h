// The subcommands of `sluice`; each adds itself to the parser and runs from its callback.
#pragma once

#include <CLI/CLI.hpp>

namespace sluice::apps {

void add_serve(CLI::App& app);
void add_run(CLI::App& app);
void add_catalogue(CLI::App& app);  // list, ps, show, stop
void add_import(CLI::App& app);
void add_bench(CLI::App& app);

}  // namespace sluice::apps
