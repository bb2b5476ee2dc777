// `sluice`: parses options and runs a subcommand.
#include <cstdio>
#include <exception>

#include "apps/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"Sluice serves Qwen3-class language models."};
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  sluice run ./Qwen3-0.6B-Q8_0.gguf \"Why is the sky blue?\"\n  sluice serve "
      "./Qwen3-0.6B-Q8_0.gguf\n  sluice COMMAND --help");
  sluice::apps::add_serve(app);
  sluice::apps::add_run(app);
  sluice::apps::add_catalogue(app);
  sluice::apps::add_import(app);
  sluice::apps::add_bench(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
