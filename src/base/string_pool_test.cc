#include "base/string_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace headroom {
namespace string_pool_test {

TEST(StringPoolTest, IdZeroIsTheEmptyString) {
  StringPool pool;
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_EQ(pool.Intern("").index(), 0u);
  EXPECT_EQ(pool.Get(StringId(0u)), "");
  EXPECT_EQ(pool.Find("").index(), 0u);
}

TEST(StringPoolTest, IdsAreDenseInOrderOfFirstAppearance) {
  StringPool pool;
  EXPECT_EQ(pool.Intern("b").index(), 1u);
  EXPECT_EQ(pool.Intern("a").index(), 2u);
  EXPECT_EQ(pool.Intern("b").index(), 1u);
  EXPECT_FALSE(pool.Find("c").valid());
  EXPECT_EQ(pool.size(), 3u);
}

TEST(StringPoolTest, AnyByteIsKept) {
  StringPool pool;
  const std::string zeros("a\0b", 3);
  EXPECT_NE(pool.Intern(zeros), pool.Intern("a"));
  EXPECT_EQ(pool.Get(pool.Intern(zeros)), zeros);
  EXPECT_EQ(pool.Get(pool.Intern("\xff\xfe")), "\xff\xfe");
}

TEST(StringPoolTest, LengthsAroundBlockSizesAreKept) {
  StringPool pool;
  std::vector<std::pair<StringId, std::string>> interned;
  for (std::size_t power = 1; power <= std::size_t{1} << 21; power *= 2) {
    for (std::size_t length : {power - 1, power, power + 1}) {
      const std::string text(length, static_cast<char>('a' + interned.size() % 26));
      interned.emplace_back(pool.Intern(text), text);
    }
  }
  for (const auto& [id, text] : interned) EXPECT_TRUE(pool.Get(id) == text) << text.size();
}

TEST(StringPoolTest, ViewsOutliveGrowth) {
  StringPool pool;
  const std::string_view first = pool.Get(pool.Intern("first"));
  for (int i = 0; i < 100000; ++i) pool.Intern(std::to_string(i));
  EXPECT_EQ(first, "first");
  EXPECT_EQ(pool.Get(pool.Find("99999")), "99999");
  EXPECT_GT(pool.MemoryBytes(), 100000u * 12);
}

RC_GTEST_PROP(StringPoolProperty, AgreesWithAMap, (const std::vector<std::string>& texts)) {
  StringPool pool;
  std::map<std::string, StringId> known = {{"", StringId(0u)}};
  for (const std::string& text : texts) {
    const auto [it, is_new] = known.try_emplace(text, StringId(known.size()));
    RC_ASSERT(pool.Find(text) == (is_new ? StringId::None() : it->second));
    RC_ASSERT(pool.Intern(text) == it->second);
  }
  for (const auto& [text, id] : known) RC_ASSERT(pool.Get(id) == text);
}

}  // namespace string_pool_test
}  // namespace headroom
