#include "api/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/json.h"

namespace sluice::api {
namespace {

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  JsonWriter json;
  json.begin_object().field("a", 1).field("b", "x,{").key("c").begin_array().integer(1).integer(-2);
  json.begin_object().end_object().begin_array().end_array().null().end_array().field("d", true).end_object();
  EXPECT_EQ(json.take(), R"({"a":1,"b":"x,{","c":[1,-2,{},[],null],"d":true})");
}

TEST(JsonWriter, EscapesWhatJsonDemandsAndKeepsTheRest) {
  EXPECT_EQ(JsonWriter().string("a\"\\\n\t\r\x01/<你好🙂").take(), "\"a\\\"\\\\\\n\\t\\r\\u0001/<你好🙂\"");
  EXPECT_EQ(JsonWriter().string(std::string_view("\0", 1)).take(), "\"\\u0000\"");
}

TEST(JsonWriter, ReplacesBrokenBytes) {
  // A cut code point, an overlong form, a surrogate, a byte that never occurs (field report F044).
  EXPECT_EQ(JsonWriter().string("\xE9\xBE").take(), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(valid_utf8("\xC0\xAF"
                       "a"),
            "\xEF\xBF\xBD\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("\xFF"), "\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("龘"), "龘");
}

TEST(JsonWriter, RandomBytesAreValidJson) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 20, ' ');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::string text = JsonWriter().begin_object().field("k", bytes).end_object().take();
    ASSERT_TRUE(json::parse(text)) << text;
  }
}

TEST(JsonWriter, WritesFiniteNumbers) {
  EXPECT_EQ(JsonWriter().number(-0.5F).take(), "-0.5");
  EXPECT_EQ(JsonWriter().number(0.0F).take(), "0.0");
  EXPECT_EQ(JsonWriter().number(-std::numeric_limits<float>::infinity()).take(), "-9999.0");
  EXPECT_EQ(JsonWriter().number(std::nanf("")).take(), "-9999.0");
}

}  // namespace
}  // namespace sluice::api
