// Code points: UTF-8, the categories that pre-tokenizers ask for, and NFC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

inline constexpr char32_t kReplacement = 0xFFFD;

// One code point at `at`, which moves past it. Bad bytes give U+FFFD and move by one.
char32_t next_code_point(std::string_view text, std::size_t& at);
void append_utf8(std::string& out, char32_t code_point);

bool is_letter(char32_t c);
bool is_number(char32_t c);
bool is_space(char32_t c);

// Canonical composition. Text that is ASCII only is returned as it is.
std::string to_nfc(std::string_view text);

}  // namespace sluice::text
