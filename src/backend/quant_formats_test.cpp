// Values of every format against those of the Python packages gguf and numpy (tests/golden/quant_formats).
#include "backend/quant_formats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/json.h"

namespace sluice::backend {
namespace {

json::object read_expected() {
  std::ifstream file(std::string(SLUICE_SOURCE_DIR) + "/tests/golden/quant_formats/values.json");
  std::ostringstream text;
  text << file.rdbuf();
  return json::parse(text.str())->get_object();
}

template <typename T>
std::vector<T> numbers(const json::value& list) {
  std::vector<T> result;
  for (const json::value& number : list.get_array()) result.push_back(static_cast<T>(number.get_int64()));
  return result;
}

TEST(QuantFormats, ValuesAreThoseOfGguf) {
  const json::object expected = read_expected();
  for (const DType format : {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ4_K, DType::kQ6_K}) {
    const json::object& golden = expected.at(traits(format).name).get_object();
    const auto stored = numbers<std::uint8_t>(golden.at("bytes"));
    const auto values = numbers<std::uint32_t>(golden.at("values"));
    ASSERT_EQ(stored.size(), row_bytes(format, values.size()));
    std::vector<float> got(values.size());
    dequantize_row(format, reinterpret_cast<const std::byte*>(stored.data()), values.size(), got.data());
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(got[i], std::bit_cast<float>(values[i])) << traits(format).name << " " << i;
  }
}

TEST(QuantFormats, RoundingToSixteenBitsIsNumpys) {
  const json::object expected = read_expected();
  const json::object& golden = expected.at("conversions").get_object();
  const auto floats = numbers<std::uint32_t>(golden.at("float"));
  const auto half = numbers<std::uint16_t>(golden.at("half"));
  const auto bf16 = numbers<std::uint16_t>(golden.at("bf16"));
  ASSERT_GT(floats.size(), 500U);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    EXPECT_EQ(float_to_half(std::bit_cast<float>(floats[i])), half[i]) << std::hex << floats[i];
    EXPECT_EQ(float_to_bf16(std::bit_cast<float>(floats[i])), bf16[i]) << std::hex << floats[i];
  }
}

// Both 16-bit formats to float and back, all values; a NaN stays one.
TEST(QuantFormats, SixteenBitsSurviveARoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto value = static_cast<std::uint16_t>(bits);
    const float half = half_to_float(value);
    const float bf16 = bf16_to_float(value);
    ASSERT_EQ(std::isnan(half), (bits & 0x7fffU) > 0x7c00U) << bits;
    ASSERT_EQ(std::isnan(bf16), (bits & 0x7fffU) > 0x7f80U) << bits;
    ASSERT_TRUE(std::isnan(half) ? std::isnan(half_to_float(float_to_half(half)))
                                 : float_to_half(half) == value);
    ASSERT_TRUE(std::isnan(bf16) ? std::isnan(bf16_to_float(float_to_bf16(bf16)))
                                 : float_to_bf16(bf16) == value);
  }
}

}  // namespace
}  // namespace sluice::backend
