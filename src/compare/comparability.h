// Whether two profiles may be compared: machine, job and recording, fact by fact.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compare/job_profile.h"

namespace headroom {

enum class FactState { kSame, kDifferent, kUnknown };

struct ComparedFact {
  std::string name = {};       ///< "gpu", "batch", "env.OMP_NUM_THREADS", ...
  std::string label = {};      ///< For people.
  std::string a = {}, b = {};  ///< Empty: not known.
  FactState state = FactState::kUnknown;
  bool blocks = false;    ///< Of a difference: no gate passes.
  bool accepted = false;  ///< The user named it as the change that is tested.
  std::string cost = {};  ///< Of a difference: what it usually costs, where that is known.
};

/// Every fact that one of them has or that matters, differences first: those that block, then those
/// whose cost is known. `accepted`: names of facts whose differences are meant.
std::vector<ComparedFact> CompareFacts(const JobProfile& a, const JobProfile& b,
                                       std::span<const std::string> accepted);

/// Whether two values of a fact say the same, as far as it is measured at all: a clock of 1755 MHz
/// is one of 1754 MHz.
bool FactsAgree(std::string_view fact, const std::string& a, const std::string& b);

/// The names of facts that block.
std::vector<std::string_view> BlockingFacts();

/// Fails (kUsage) where a name is that of no fact that blocks; tells the nearest.
Status CheckAccepted(std::span<const std::string> accepted);

/// Whether no difference blocks that was not accepted.
bool AreComparable(std::span<const ComparedFact> facts);

}  // namespace headroom
