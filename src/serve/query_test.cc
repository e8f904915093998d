#include "serve/query.h"

#include <gtest/gtest.h>

namespace headroom {
namespace query_test {

TEST(QueryTest, ValuesHaveTypes) {
  const Query::Parameters parameters = {{"gpu", "A,B"},  {"gpu", "C"},  {"x", "1.5"},
                                        {"n", "12"},     {"on", "1"},   {"off", "0"},
                                        {"text", "a b"}, {"token", "t"}};
  Query query(parameters);
  EXPECT_EQ(query.List("gpu"), (std::vector<std::string>{"A", "B", "C"}));
  EXPECT_EQ(query.Number("x"), 1.5);
  EXPECT_EQ(query.Count("n", 12), 12);
  EXPECT_TRUE(query.Flag("on"));
  EXPECT_FALSE(query.Flag("off"));
  EXPECT_EQ(query.Text("text"), "a b");
  EXPECT_TRUE(query.Finish().ok());
}

TEST(QueryTest, WhatIsNotGivenIsNothing) {
  const Query::Parameters none;
  Query query(none);
  EXPECT_TRUE(query.List("gpu").empty());
  EXPECT_TRUE(query.Numbers("x").empty());
  EXPECT_FALSE(query.Number("x"));
  EXPECT_FALSE(query.Count("n", 12));
  EXPECT_FALSE(query.Flag("on"));
  EXPECT_EQ(query.Text("text"), "");
  EXPECT_TRUE(query.Finish().ok());
}

TEST(QueryTest, WrongValuesAreNamed) {
  for (const char* value : {"", "x", "1x", "0", "-1", "1.5", "13", "99999999999999999999"}) {
    const Query::Parameters parameters = {{"n", value}};
    Query query(parameters);
    EXPECT_FALSE(query.Count("n", 12)) << value;
    EXPECT_NE(query.Finish().message().find("from 1 to 12"), std::string::npos) << value;
  }
  for (const char* value : {"", "x", "1x", "nan", "inf", "1e999"}) {
    const Query::Parameters parameters = {{"x", value}};
    Query query(parameters);
    EXPECT_FALSE(query.Number("x")) << value;
    EXPECT_NE(query.Finish().message().find("x: "), std::string::npos) << value;
  }
  for (const char* value : {"", ",", "A,", ",A", "A,,B"}) {
    const Query::Parameters parameters = {{"gpu", value}};
    Query query(parameters);
    query.List("gpu");
    EXPECT_FALSE(query.Finish().ok()) << value;
  }
}

TEST(QueryTest, WholeNumbersMayBeNegative) {
  const Query::Parameters parameters = {{"from", "-3"}, {"tracks", "0,12"}, {"x", "1.5"}};
  Query query(parameters);
  EXPECT_EQ(query.Integer("from"), -3);
  EXPECT_EQ(query.Integers("tracks"), (std::vector<std::int64_t>{0, 12}));
  EXPECT_TRUE(query.Integers("lanes").empty());
  query.Integer("x");
  EXPECT_EQ(query.Finish().message(), "x: '1.5' is not an integer");
  Query other(parameters);
  other.Integer("to");
  EXPECT_EQ(other.Finish().message(), "to is required");
}

TEST(QueryTest, WhatNobodyTookIsAnError) {
  const Query::Parameters parameters = {{"gpu", "A"}, {"gpus", "B"}};
  Query query(parameters);
  query.List("gpu");
  EXPECT_EQ(query.Finish().message(), "'gpus' is not a parameter of this request; it accepts gpu");
}

}  // namespace query_test
}  // namespace headroom
