// What electricity emits, by place: data/grid/carbon.toml or a file of the user's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

/// A grid, by the average of a year.
struct GridRegion {
  std::string code = {}, name = {};
  double g_co2_per_kwh = 0;  ///< 0 or more.
  std::int64_t year = 0;
  std::string basis = {};  ///< "lifecycle" or "operational".
  std::string source = {};
};

/// Power usage effectiveness: energy of a data centre, over that of its machines; 1 or more.
struct PueEntry {
  std::string code, name;
  double value = 1;
  std::int64_t year = 0;
  std::string source;
};

/// Something that people grasp: its CO2 or its energy.
struct Equivalent {
  std::string name;
  std::optional<double> g_co2, kwh;
};

class CarbonData {
 public:
  /// The file built into the program; a failure is a defect of the build.
  static Result<CarbonData> LoadBuiltIn();
  /// Reads a file over this one: entries replace those with the same code. BadInput names the file,
  /// the line and the remedy.
  Status Read(const NamedText& file);

  /// nullptr: unknown. Codes are compared without regard to case.
  const GridRegion* FindRegion(std::string_view code) const;
  const PueEntry* FindPue(std::string_view code) const;
  std::vector<std::string_view> RegionCodes() const;
  std::vector<std::string_view> PueCodes() const;

  const std::string& default_region() const { return default_region_; }
  const std::string& default_pue() const { return default_pue_; }
  const std::vector<Equivalent>& equivalents() const { return equivalents_; }

 private:
  std::map<std::string, GridRegion, std::less<>> regions_;  ///< By code in capitals.
  std::map<std::string, PueEntry, std::less<>> pues_;
  std::vector<Equivalent> equivalents_;
  std::string default_region_, default_pue_;
};

/// Kilograms of CO2 of so much energy at a GPU.
double Co2Kg(double joules, const GridRegion& region, double pue);

}  // namespace headroom
