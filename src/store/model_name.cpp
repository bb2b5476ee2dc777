#include "store/model_name.h"

#include <algorithm>
#include <cctype>

namespace sluice::store {
namespace {

bool is_part(std::string_view part, std::string_view extra, std::size_t length_max) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (part.empty() || part.size() > length_max || !is_word(part[0])) return false;
  return std::ranges::all_of(
      part, [&](char c) { return is_word(c) || c == '-' || extra.find(c) != std::string_view::npos; });
}

}  // namespace

std::string ModelName::display() const {
  const ModelName defaults;
  std::string text = model + ":" + tag;
  if (space != defaults.space || host != defaults.host) text = space + "/" + text;
  if (host != defaults.host) text = host + "/" + text;
  return text;
}

Result<ModelName> parse_name(std::string_view text) {
  ModelName name;
  std::string_view rest = text;
  if (const std::size_t scheme = rest.find("://"); scheme != std::string_view::npos)
    rest.remove_prefix(scheme + 3);
  const std::size_t slash = rest.rfind('/');
  std::string_view last = slash == std::string_view::npos ? rest : rest.substr(slash + 1);
  if (const std::size_t colon = last.find(':'); colon != std::string_view::npos) {
    name.tag = last.substr(colon + 1);
    last = last.substr(0, colon);
  }
  name.model = last;
  if (slash != std::string_view::npos) {
    const std::string_view front = rest.substr(0, slash);
    const std::size_t host_end = front.rfind('/');
    name.space = host_end == std::string_view::npos ? front : front.substr(host_end + 1);
    if (host_end != std::string_view::npos) name.host = front.substr(0, host_end);
  }
  const bool is_good = is_part(name.host, ".:", 350) && is_part(name.space, "", 80) &&
                       is_part(name.model, ".", 80) && is_part(name.tag, ".", 80);
  if (!is_good) {
    return fail(
        ErrorCode::kInvalidArgument,
        "\"{}\" is not a model name: [HOST/][NAMESPACE/]MODEL[:TAG] of letters, digits, '_', '-' and '.'",
        text.substr(0, 200));
  }
  return name;
}

}  // namespace sluice::store
