// A chat template of any bytes: loaded or refused; rendered or refused; every byte of a prompt has its mark.
#include "base/check.h"
#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  const auto parsed = text::ChatTemplate::parse({reinterpret_cast<const char*>(data), size}, "<s>", "</s>");
  if (!parsed) return 0;
  text::Conversation chat;
  for (const char* role : {"system", "user", "assistant", "user"}) {
    text::Message message;
    message.role = role;
    message.content = "你好 <|im_end|> text\n";
    chat.messages.push_back(message);
  }
  const auto rendered = (*parsed)->render(chat);
  if (rendered) SLUICE_CHECK(rendered->chars.size() == rendered->marks.size(), "a byte without its mark");
  return 0;
}
