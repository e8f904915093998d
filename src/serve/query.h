// Typed access to the parameters of a request.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom {

/// The caller takes parameters one by one. Finish() then reports invalid and unused parameters.
class Query {
 public:
  /// Names and values from an address.
  using Parameters = std::multimap<std::string, std::string>;

  /// @param parameters  must outlive the object; `token` is ignored
  explicit Query(const Parameters& parameters) : parameters_(parameters) {}

  /// Returns all values of a name; splits values at commas. Empty values are an error.
  std::vector<std::string> List(const std::string& name);
  /// Returns all values of a name, unsplit.
  std::vector<std::string> Texts(const std::string& name);
  /// Returns the only value of a name; empty: missing.
  std::string Text(const std::string& name);
  std::optional<double> Number(const std::string& name);
  std::vector<double> Numbers(const std::string& name);
  /// Returns a required integer.
  std::int64_t Integer(const std::string& name);
  /// Returns nullopt if the parameter is missing.
  std::optional<std::int64_t> OptionalInteger(const std::string& name);
  /// Returns all values of a name; splits values at commas. Empty if the parameter is missing.
  std::vector<std::int64_t> Integers(const std::string& name);
  /// Accepts integers from 1 to `most`; nullopt: missing.
  std::optional<std::int64_t> Count(const std::string& name, std::int64_t most);
  /// Accepts "1" or "0"; missing: false.
  bool Flag(const std::string& name);

  /// Leaves a parameter out of messages, because most requests accept it.
  void LeaveOut(const std::string& name) { shared_.insert(name); }

  /// Fails (kUsage) with the first invalid value so far.
  const Status& status() const { return status_; }
  /// Fails (kUsage) with the first invalid value, else with the unused parameters.
  Status Finish() const;

 private:
  /// Returns the only value; nullptr: missing.
  const std::string* One(const std::string& name);
  std::int64_t IntegerIn(const std::string& name, const std::string& text);
  std::optional<double> NumberIn(const std::string& name, const std::string& text);
  void Fail(std::string message);

  const Parameters& parameters_;
  std::set<std::string> taken_ = {"token"};
  std::set<std::string> shared_ = {"token", "rank"};  ///< Left out of messages.
  Status status_ = Status::Ok();
};

}  // namespace headroom
