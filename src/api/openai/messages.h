// The conversation of a chat body: messages with their content parts joined, tools, template arguments.
#pragma once

#include "api/generation.h"
#include "api/validation.h"

namespace sluice::api::openai {

// messages, tools and tool_choice, chat_template_kwargs, reasoning_effort, documents, add_generation_prompt:
// sets request.chat and request.thinking.
Status read_conversation(const Fields& fields, TextRequest& request);

}  // namespace sluice::api::openai
