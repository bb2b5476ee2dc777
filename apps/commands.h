// The subcommands of `sluice`; each adds itself to the parser and runs from its callback.
#pragma once

#include <CLI/CLI.hpp>

namespace sluice::apps {

void add_bench(CLI::App& app);

}  // namespace sluice::apps
