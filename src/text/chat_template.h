// A conversation to a prompt, by the model's own Jinja template. Immutable: all threads may use one.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/message.h"
#include "text/template/ast.h"
#include "text/tokenizer/tokenizer.h"

namespace sluice::text {

// What a template rendered; `marks` has a 1 for each byte that came from a user.
using RenderedPrompt = MarkedText;

class ChatTemplate {
 public:
  // Errors name line and construct: a template that cannot be rendered is refused here (field report F006).
  static Result<std::shared_ptr<const ChatTemplate>> parse(std::string_view source, std::string bos_token,
                                                           std::string eos_token);
  ChatTemplate(NodeList nodes, std::string bos_token, std::string eos_token)
      : nodes_(std::move(nodes)), bos_token_(std::move(bos_token)), eos_token_(std::move(eos_token)) {}

  Result<RenderedPrompt> render(const Conversation& conversation) const;

 private:
  NodeList nodes_;
  std::string bos_token_;
  std::string eos_token_;
};

// Scaffolding with its control tokens, text of a user without any (field report F002).
std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, const RenderedPrompt& prompt);

}  // namespace sluice::text
