#include "report/exchange_schedule.h"

#include <gtest/gtest.h>

#include <string_view>

namespace headroom {
namespace exchange_schedule_test {

TEST(ExchangeScheduleTest, EachNameThatIsOfferedIsOne) {
  for (const std::string_view name : kScheduleNames) {
    EXPECT_TRUE(ParseSchedule(name).ok()) << name;
    EXPECT_NE(kSchedules.find(name), std::string_view::npos) << name;
  }
  EXPECT_FALSE(ParseSchedule("zero-4").ok());
}

}  // namespace exchange_schedule_test
}  // namespace headroom
