#include "ranks/group_names.h"

#include <map>
#include <set>
#include <string>

namespace headroom {

void TellGroupsApart(std::vector<RankTimeline>& ranks) {
  // Recorded members as strings, by group name.
  std::map<std::string, std::set<std::string>> members;
  for (const RankTimeline& rank : ranks) {
    for (const RankGroup& group : rank.groups) {
      if (!group.ranks.empty()) members[group.name].insert(group.ranks);
    }
  }
  for (RankTimeline& rank : ranks) {
    std::map<std::string, std::string> renamed;
    for (RankGroup& group : rank.groups) {
      if (group.ranks.empty() || members[group.name].size() < 2) continue;
      const std::string name = group.name + " " + group.ranks;
      renamed[group.name] = name;
      group.name = name;
    }
    for (RankCollective& collective : rank.collectives) {
      const auto found = renamed.find(collective.group);
      if (found != renamed.end()) collective.group = found->second;
    }
  }
}

}  // namespace headroom
