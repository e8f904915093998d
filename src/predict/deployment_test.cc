#include "predict/deployment.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "base/testing/damage.h"
#include "predict/carbon.h"

namespace headroom {
namespace deployment_test {

DeploymentOption Option(double hours, double money, const char* currency = "USD") {
  DeploymentOption option{.instance = {}, .hours = hours, .money = money};
  option.instance.currency = currency;
  return option;
}

TEST(Deployment, MarksWhatNothingIsCheaperOrFasterThan) {
  std::vector<DeploymentOption> options = {Option(10, 5), Option(4, 8), Option(2, 20), Option(5, 9),
                                           Option(2, 20)};
  MarkBest(options);
  EXPECT_TRUE(options[0].cheapest && options[0].pareto && !options[0].fastest);
  EXPECT_TRUE(options[1].pareto && !options[1].cheapest && !options[1].fastest);
  EXPECT_TRUE(options[2].fastest && options[2].pareto);
  EXPECT_FALSE(options[3].pareto) << "slower and more expensive than the second";
  EXPECT_TRUE(options[4].pareto) << "equal to the third";
}

TEST(Deployment, MoneyOfTwoCurrenciesIsNotCompared) {
  std::vector<DeploymentOption> options = {Option(10, 5, "USD"), Option(20, 9, "EUR")};
  MarkBest(options);
  EXPECT_TRUE(options[1].cheapest && options[1].fastest && options[1].pareto);
}

TEST(Deployment, DatesAreDaysThatHaveBeenAndNoInstanceIsListedTwice) {
  const auto row = [](const std::string& instance, const std::string& date) {
    return "[[instance]]\nprovider = \"p\"\ninstance = \"" + instance +
           "\"\nregion = \"r\"\ngpu = \"T4\"\ngpus = 1\nprice_per_hour = 1\ncurrency = \"EUR\"\n"
           "date = \"" +
           date + "\"\nsource = \"own\"\n";
  };
  const auto says = [](const std::string& text) {
    const auto prices = ReadPrices({"p.toml", text}, "2026-05-31");
    return prices.ok() ? std::string() : prices.status().message();
  };
  for (const char* date : {"2024-02-29", "2026-05", "2026-05-31"})
    EXPECT_EQ(says(row("a", date)), "") << date;
  for (const char* date : {"2026-02-30", "2025-02-29", "2024-04-31", "2024-13", "2024-00-01"})
    EXPECT_NE(says(row("a", date)).find("p.toml, line 9: date"), std::string::npos) << date;
  for (const char* date : {"2026-06-01", "2026-06", "2099-01"})
    EXPECT_NE(says(row("a", date)).find("in the future"), std::string::npos) << date;
  EXPECT_EQ(says(row("a", "2024-05") + row("b", "2024-05")), "");
  EXPECT_NE(says(row("a", "2024-05") + row("a", "2024-06")).find("line 13: instance"),
            std::string::npos);
}

TEST(Deployment, TheShippedPricesAndGridsAreSound) {
  const Result<std::vector<InstancePrice>> prices = LoadSamplePrices();
  ASSERT_TRUE(prices.ok()) << prices.status().message();
  EXPECT_GE(prices.value().size(), 15u);
  const Result<CarbonData> carbon = CarbonData::LoadBuiltIn();
  ASSERT_TRUE(carbon.ok()) << carbon.status().message();
  EXPECT_GE(carbon.value().RegionCodes().size(), 30u);
  EXPECT_NE(carbon.value().FindRegion(carbon.value().default_region()), nullptr);
  EXPECT_NE(carbon.value().FindPue(carbon.value().default_pue()), nullptr);
  EXPECT_EQ(carbon.value().FindRegion("de"), carbon.value().FindRegion("DE"));
  EXPECT_EQ(carbon.value().FindRegion("nowhere"), nullptr);
}

TEST(Deployment, Co2IsEnergyTimesOverheadTimesGrid) {
  // 2 kWh at the GPU, plus half as much for the data centre.
  EXPECT_NEAR(Co2Kg(7.2e6, {.g_co2_per_kwh = 400}, 1.5), 1.2, 1e-12);
}

TEST(Deployment, AFileOfTheUsersReplacesAndAdds) {
  CarbonData carbon = CarbonData::LoadBuiltIn().value();
  const std::string text =
      "date = \"2026-11\"\n[[region]]\ncode = \"DE\"\nname = \"mine\"\ng_co2_per_kwh = 7\n"
      "year = 2026\nbasis = \"operational\"\nsource = \"own\"\n";
  ASSERT_TRUE(carbon.Read({"mine.toml", text}).ok());
  EXPECT_EQ(carbon.FindRegion("DE")->g_co2_per_kwh, 7);
  EXPECT_NE(carbon.FindRegion("FR"), nullptr);
  const std::string block = text.substr(text.find("[[region]]"));
  const Status twice = carbon.Read({"mine.toml", text + block});
  EXPECT_NE(twice.message().find("line 10: code of [[region]] 2"), std::string::npos)
      << twice.message();
  struct Case {
    const char* from;
    const char* to;
    const char* says;
  };
  for (const Case& c :
       {Case{"= 7", "= -7", "line 5: g_co2_per_kwh of [[region]] 1"},
        Case{"= 7", "= \"7\"", "line 5"}, Case{"\"2026-11\"", "2026", "line 1: date"},
        Case{"2026\nbasis", "26\nbasis", "line 6: year"},
        Case{"year = 2026", "more = 1\nyear = 2026", "line 6: more"},
        Case{"[[region]]", "[region]", "[[region]]"}, Case{"= 7", "=", "line 5"}}) {
    std::string wrong = text;
    wrong.replace(wrong.find(c.from), std::string(c.from).size(), c.to);
    const Status status = carbon.Read({"mine.toml", wrong});
    ASSERT_FALSE(status.ok()) << c.to;
    EXPECT_EQ(status.code(), StatusCode::kBadInput);
    EXPECT_NE(status.message().find("mine.toml"), std::string::npos);
    EXPECT_NE(status.message().find(c.says), std::string::npos) << status.message();
  }
}

RC_GTEST_PROP(DeploymentProperty, ADamagedPriceListIsSoundOrAnErrorThatNamesIt, ()) {
  const std::string text = Damaged(
      "[[instance]]\nprovider = \"p\"\ninstance = \"i\"\nregion = \"r\"\ngpu = \"T4\"\ngpus = 1\n"
      "price_per_hour = 1.5\ncurrency = \"USD\"\ndate = \"2026-11\"\nsource = \"own\"\n");
  const auto prices = ReadPrices({"damaged.toml", text});
  if (!prices.ok()) {
    RC_ASSERT(prices.status().message().find("damaged.toml") != std::string::npos);
    return;
  }
  for (const InstancePrice& price : prices.value())
    RC_ASSERT(price.price_per_hour >= 0 && price.gpus >= 1 && price.currency.size() == 3);
}

TEST(Deployment, AJobTakesAsManyInstancesAsHoldItsGpus) {
  EXPECT_EQ(InstancesFor(8, 1), 8);
  EXPECT_EQ(InstancesFor(8, 4), 2);
  EXPECT_EQ(InstancesFor(8, 8), 1);
  EXPECT_EQ(InstancesFor(9, 8), 2);
  EXPECT_EQ(InstancesFor(2, 8), 1) << "with six idle GPUs";
  EXPECT_EQ(InstancesFor(1, 1), 1);
  EXPECT_EQ(InstancesFor(1, 8), 1);
}

}  // namespace deployment_test
}  // namespace headroom
