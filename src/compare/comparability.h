// Decides from the facts of machine, job and recording whether two profiles are comparable.
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
  std::string name = {};       ///< Examples: "gpu", "batch", "env.OMP_NUM_THREADS".
  std::string label = {};      ///< Label for people.
  std::string a = {}, b = {};  ///< Values in A and B; empty if unknown.
  FactState state = FactState::kUnknown;
  bool blocks = false;    ///< True for a difference that blocks every gate.
  bool accepted = false;  ///< True if the user names it as the tested change.
  std::string cost = {};  ///< Typical effect of the difference, or advice; empty if unknown.
};

/// Returns every fact of either profile, and the facts that a recording should have even if both
/// lack them. Blocking differences come first, then differences with a known effect. `accepted`
/// names the facts that the user intends to differ.
std::vector<ComparedFact> CompareFacts(const JobProfile& a, const JobProfile& b,
                                       std::span<const std::string> accepted);

/// Returns true if two values of a fact agree within its tolerance: 1755 MHz and 1754 MHz are the
/// same clock.
bool FactsAgree(std::string_view fact, const std::string& a, const std::string& b);

/// Returns the names of the facts whose difference blocks a gate.
std::vector<std::string_view> BlockingFacts();

/// Fails with kUsage and the nearest name if a name is not a blocking fact.
Status CheckAccepted(std::span<const std::string> accepted);

/// Returns true if every blocking difference is accepted.
bool AreComparable(std::span<const ComparedFact> facts);

}  // namespace headroom
