#include "serve/access.h"

#include <gtest/gtest.h>

namespace headroom {
namespace access_test {

constexpr int kPort = 4711;
constexpr const char* kHost = "127.0.0.1:4711";
constexpr const char* kOrigin = "http://127.0.0.1:4711";

Access Ask(const RequestFacts& request) { return AccessRules("s3cret", kPort).Check(request); }

TEST(AccessTest, ByLinkOrByCookie) {
  EXPECT_EQ(Ask({.host = kHost, .token = "s3cret"}), Access::kByLink);
  EXPECT_EQ(Ask({.host = kHost, .cookies = "headroom-4711=s3cret"}), Access::kByCookie);
  EXPECT_EQ(Ask({.host = kHost, .cookies = "a=1; headroom-4711=s3cret; b=2"}), Access::kByCookie);
  EXPECT_EQ(Ask({.host = kHost, .origin = kOrigin, .cookies = "headroom-4711=s3cret"}),
            Access::kByCookie);
}

TEST(AccessTest, WhatActsNeedsTheOrigin) {
  const std::string cookies = "headroom-4711=s3cret";
  EXPECT_EQ(Ask({.host = kHost, .origin = kOrigin, .cookies = cookies, .acts = true}),
            Access::kByCookie);
  EXPECT_EQ(Ask({.host = kHost, .cookies = cookies, .acts = true}), Access::kNoOrigin);
  EXPECT_EQ(Ask({.host = kHost, .token = "s3cret", .acts = true}), Access::kNoOrigin);
  EXPECT_EQ(Ask({.host = kHost, .origin = "null", .cookies = cookies, .acts = true}),
            Access::kForeignOrigin);
  EXPECT_EQ(Ask({.host = kHost, .origin = kOrigin, .acts = true}), Access::kNoToken);
}

TEST(AccessTest, ByNothingElse) {
  EXPECT_EQ(Ask({.host = kHost}), Access::kNoToken);
  EXPECT_EQ(Ask({.host = kHost, .token = "s3creT"}), Access::kNoToken);
  EXPECT_EQ(Ask({.host = kHost, .token = "s3cret2"}), Access::kNoToken);
  EXPECT_EQ(Ask({.host = kHost, .cookies = "headroom-4711="}), Access::kNoToken);
  // A cookie of another server on this machine.
  EXPECT_EQ(Ask({.host = kHost, .cookies = "headroom-4712=s3cret"}), Access::kNoToken);
  EXPECT_EQ(Ask({.host = kHost, .cookies = "xheadroom-4711=s3cret"}), Access::kNoToken);
}

TEST(AccessTest, ForeignNamesAndPages) {
  EXPECT_EQ(Ask({.host = "evil.example:4711", .token = "s3cret"}), Access::kForeignHost);
  EXPECT_EQ(Ask({.token = "s3cret"}), Access::kForeignHost);
  EXPECT_EQ(Ask({.host = kHost, .origin = "http://evil.example", .token = "s3cret"}),
            Access::kForeignOrigin);
  EXPECT_EQ(Ask({.host = kHost, .origin = "null", .token = "s3cret"}), Access::kForeignOrigin);
  // Another server on this machine counts as another site.
  EXPECT_EQ(Ask({.host = kHost, .origin = "http://127.0.0.1:8080", .token = "s3cret"}),
            Access::kForeignOrigin);
}

TEST(AccessTest, HostsOfLoopback) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:1", "localhost:65535", "[::1]:80", "[::1]"})
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  for (const char* host : {"", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1:",
                           "127.0.0.1:x", "localhost:123456", "127.0.0.2", "0.0.0.0:80"})
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
}

TEST(AccessTest, TheCookieIsForThisServerAlone) {
  EXPECT_EQ(AccessRules("s3cret", kPort).SetCookie(),
            "headroom-4711=s3cret; Path=/; HttpOnly; SameSite=Strict");
  EXPECT_EQ(MakeToken().size(), 32u);
  EXPECT_NE(MakeToken(), MakeToken());
}

}  // namespace access_test
}  // namespace headroom
