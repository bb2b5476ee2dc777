#include "engine/step_builder.h"

#include <algorithm>

namespace sluice::engine {
namespace {

model::StepInput::SampleRow sample_row(const Sequence& sequence, std::size_t vocabulary) {
  const GenerationRequest& request = sequence.request;
  const sampling::SamplingParams& params = request.sampling;
  model::StepInput::SampleRow row;
  row.params = params;
  row.position = sequence.tokens.size();
  const bool counts_output =
      params.presence_penalty != 0 || params.frequency_penalty != 0 || params.min_tokens > 0;
  const auto middle = sequence.tokens.begin() + static_cast<std::ptrdiff_t>(request.prompt.size());
  if (params.repetition_penalty != 1.0F) row.prompt = request.prompt;
  if (counts_output || params.repetition_penalty != 1.0F) row.output.assign(middle, sequence.tokens.end());
  if (params.min_tokens > 0) row.end_ids = request.end_ids;
  if (request.constraint) {
    row.allowed.resize((vocabulary + 31) / 32);
    request.constraint->fill_mask(row.allowed);
  }
  return row;
}

}  // namespace

model::StepInput build_step(const StepPlan& plan, std::size_t block_tokens, std::size_t vocabulary) {
  model::StepInput step;
  std::size_t widest = 0;
  for (const PlannedSequence& planned : plan.sequences)
    widest = std::max(widest, planned.sequence->table.blocks.size());
  step.blocks_per_sequence_max = static_cast<std::int32_t>(widest);
  step.query_starts.push_back(0);
  for (const PlannedSequence& planned : plan.sequences) {
    const Sequence& sequence = *planned.sequence;
    const std::size_t end = sequence.computed + planned.tokens;
    for (std::size_t p = sequence.computed; p < end; ++p) {
      step.token_ids.push_back(sequence.tokens[p]);
      step.positions.push_back(static_cast<std::int32_t>(p));
      const std::int64_t block = sequence.table.blocks[p / block_tokens].value;
      step.slots.push_back(block * static_cast<std::int64_t>(block_tokens) +
                           static_cast<std::int64_t>(p % block_tokens));
    }
    step.query_starts.push_back(static_cast<std::int32_t>(step.token_ids.size()));
    step.context_lengths.push_back(static_cast<std::int32_t>(end));
    for (std::size_t b = 0; b < widest; ++b) {
      step.block_tables.push_back(b < sequence.table.blocks.size() ? sequence.table.blocks[b].value : 0);
    }
    if (!planned.samples()) continue;
    step.logit_rows.push_back(static_cast<std::int32_t>(step.token_ids.size()) - 1);
    step.samples.push_back(sample_row(sequence, vocabulary));
  }
  return step;
}

}  // namespace sluice::engine
