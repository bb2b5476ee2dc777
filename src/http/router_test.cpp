// Which handler a path finds, and who shapes its refusal.
#include "http/router.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

// A handler that only says whether it is there: routing never calls it.
boost::asio::awaitable<void> nothing(RequestPtr, WriterPtr) { co_return; }

TEST(Router, ExactPathsBeforeTailsAndLongTailsBeforeShort) {
  Router router;
  router.add("GET", "/v1/models", nothing);
  router.add("GET", "/v1/models/*", nothing);
  router.add("POST", "/v1/models/load/*", nothing);
  router.add("DELETE", "/v1/models/load", nothing);
  EXPECT_NE(router.find("GET", "/v1/models").handler, nullptr);
  EXPECT_NE(router.find("HEAD", "/v1/models/qwen/3:0.6b").handler, nullptr);
  EXPECT_EQ(router.find("GET", "/v1/models/").handler, nullptr);  // a tail is never empty
  EXPECT_TRUE(router.find("GET", "/v1/models/").allowed.empty());
  EXPECT_EQ(router.find("POST", "/v1/models/x").allowed, std::vector<std::string>{"GET"});
  EXPECT_NE(router.find("POST", "/v1/models/load/x").handler, nullptr);
  EXPECT_EQ(router.find("GET", "/v1/models/load/x").allowed, std::vector<std::string>{"POST"});
  EXPECT_EQ(router.find("GET", "/v1/models/load").allowed, std::vector<std::string>{"DELETE"});
  EXPECT_TRUE(router.find("GET", "/v1/modelsx").allowed.empty());
}

TEST(Router, EachPrefixShapesItsRefusals) {
  Router router;
  const auto say = [](const std::string& text) {
    return [text](const Request&, int status) {
      Response response;
      response.status = status;
      response.body = text;
      return response;
    };
  };
  router.refuse_with("/api/", say("outer"));
  router.refuse_with("/api/blobs/", say("inner"));
  Request request;
  request.path = "/api/nothing";
  EXPECT_EQ(router.refuse(request, 404).body, "outer");
  EXPECT_EQ(router.refuse(request, 405).status, 405);
  request.path = "/api/blobs/x";
  EXPECT_EQ(router.refuse(request, 404).body, "inner");
  request.path = "/v1/nothing";
  EXPECT_NE(router.refuse(request, 404).body.find("\"code\":404"), std::string::npos);
}

}  // namespace
}  // namespace sluice::http
