// Emissions of electricity by region: data/grid/carbon.toml or a user's file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

/// An electricity grid, with its average emissions in a year.
struct GridRegion {
  std::string code = {}, name = {};
  double g_co2_per_kwh = 0;  ///< Grams of CO2 per kWh; at least 0.
  std::int64_t year = 0;
  std::string basis = {};  ///< "lifecycle" or "operational".
  std::string source = {};
};

/// Power usage effectiveness: energy of a data centre divided by the energy of its machines; at
/// least 1.
struct PueEntry {
  std::string code, name;
  double value = 1;
  std::int64_t year = 0;
  std::string source;
};

/// A familiar quantity for comparison, with its CO2 or its energy.
struct Equivalent {
  std::string name;
  std::optional<double> g_co2, kwh;
};

class CarbonData {
 public:
  /// Loads the built-in file. A failure is a defect of the build.
  static Result<CarbonData> LoadBuiltIn();
  /// Adds a file. Its entries replace existing entries with the same code. Fails with kBadInput and
  /// names the file, the line and the fix.
  Status Read(const NamedText& file);

  /// Returns nullptr for an unknown code. Ignores the case of codes.
  const GridRegion* FindRegion(std::string_view code) const;
  const PueEntry* FindPue(std::string_view code) const;
  std::vector<std::string_view> RegionCodes() const;
  std::vector<std::string_view> PueCodes() const;

  const std::string& default_region() const { return default_region_; }
  const std::string& default_pue() const { return default_pue_; }
  const std::vector<Equivalent>& equivalents() const { return equivalents_; }

 private:
  std::map<std::string, GridRegion, std::less<>> regions_;  ///< Keys are codes in capitals.
  std::map<std::string, PueEntry, std::less<>> pues_;
  std::vector<Equivalent> equivalents_;
  std::string default_region_, default_pue_;
};

/// Returns the kilograms of CO2 for the energy of GPUs, including the data centre's overhead.
double Co2Kg(double joules, const GridRegion& region, double pue);

}  // namespace headroom
