#include "answers/scale/exchange_schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>

#include "base/ascii.h"

namespace headroom {
namespace exchange_schedule_test {

TEST(ExchangeScheduleTest, EachNameIsOneAndTheHelpHasIt) {
  std::string help(kSchedules);
  for (const std::string_view name : ScheduleNames()) {
    EXPECT_TRUE(ParseSchedule(name).ok()) << name;
    const std::size_t at = help.find(name);
    ASSERT_NE(at, std::string::npos) << name;
    help.erase(at, name.size());
  }
  while (help.find('[') != std::string::npos)  // Removes the keys.
    help.erase(help.find('['), help.find(']') - help.find('[') + 1);
  std::erase_if(help, [](char c) { return !IsLetter(c) && !IsDigit(c); });
  EXPECT_EQ(help, "or") << "it names what is none";
  EXPECT_FALSE(ParseSchedule("zero-4").ok());
}

TEST(ExchangeScheduleTest, ShardsMayBeShared) {
  for (const char* text : {"fsdp:shard=8", "zero-3:shard=8"}) {
    const Result<ExchangeSchedule> parsed = ParseSchedule(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(std::get<ZeroSharding>(parsed.value().schedule).gpus, 8) << text;
  }
  EXPECT_FALSE(ParseSchedule("fsdp:shard=1").ok());
  EXPECT_FALSE(ParseSchedule("fsdp:servers=8").ok());
  EXPECT_FALSE(ParseSchedule("zero-2:shard=8").ok());
}

}  // namespace exchange_schedule_test
}  // namespace headroom
