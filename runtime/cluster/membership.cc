// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/membership.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "belay/error.h"
#include "belay/tensor_text.h"

namespace belay::runtime {

// A process that waits for a group writes this.
struct HereMark {
  std::uint64_t token = 0;
  std::int64_t waits = 0;  // for this generation, or a later one
  bool trained = false;    // it was in a group before
  int seats = 0;           // the number of ranks that it was given
  std::vector<int> unmet;  // seats of the previous group that it did not meet
};

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr const char* kGroupName = "group";
constexpr std::uint64_t kMostBytesOfMark = 1 << 16;
constexpr std::chrono::milliseconds kBetweenMarks{20};
constexpr double kGoneSecs = 2;  // a rendezvous that is gone for this long is not being made anew

std::string mark_name(int seat) { return fmt::format("here-{}", seat); }

std::uint64_t new_token() {
  std::random_device random;
  return (static_cast<std::uint64_t>(random()) << 32) | random();
}

double secs_since(SteadyClock::time_point begun) {
  return std::chrono::duration<double>(SteadyClock::now() - begun).count();
}

std::string secs_text(const char* key, double secs) {
  return std::string("cluster.") + key + " = " + rounded_text(secs);
}

// A file that is just being made or removed counts as missing.
std::string read_mark(const OpenDirectory& rendezvous, const std::string& name) {
  try {
    return rendezvous.exists(name) ? rendezvous.read(name, kMostBytesOfMark) : "";
  } catch (const Error&) {
    return "";
  }
}

bool is_seated(const OpenDirectory& rendezvous, int seat) {
  try {
    return rendezvous.locked(seat_name(seat));
  } catch (const Error&) {
    return false;
  }
}

std::optional<HereMark> mark_of(const OpenDirectory& rendezvous, int seat) {
  std::istringstream text(read_mark(rendezvous, mark_name(seat)));
  HereMark mark;
  if (!(text >> mark.token >> mark.waits >> mark.trained >> mark.seats)) return std::nullopt;
  for (int other = 0; text >> other;) mark.unmet.push_back(other);
  return mark;
}

std::string text_of(const HereMark& mark) {
  std::string text = fmt::format("{} {} {} {}", mark.token, mark.waits, mark.trained ? "1" : "0", mark.seats);
  for (const int seat : mark.unmet) text += fmt::format(" {}", seat);
  return text + "\n";
}

std::string text_of(const RankMembers& group) {
  std::string text = fmt::format("{} {}", group.generation, group.meeting);
  for (const RankMembers::Member& m : group.members) text += fmt::format(" {}:{}", m.seat, m.token);
  return text + "\n";
}

std::optional<RankMembers> group_of(const OpenDirectory& rendezvous) {
  std::istringstream text(read_mark(rendezvous, kGroupName));
  RankMembers group;
  if (!(text >> group.generation >> group.meeting)) return std::nullopt;
  RankMembers::Member member;
  for (char colon = 0; text >> member.seat >> colon >> member.token;) group.members.push_back(member);
  return group;
}

}  // namespace

std::optional<int> RankMembers::rank_of(const Member& member) const {
  const auto found = std::find(members.begin(), members.end(), member);
  if (found == members.end()) return std::nullopt;
  return static_cast<int>(found - members.begin());
}

std::vector<int> ranks_not_met(std::string_view error) {
  constexpr std::string_view kBefore = ": rank";
  const std::size_t open = error.find(" in open");
  std::size_t at = open == std::string_view::npos ? open : error.find(':', open);
  if (at == std::string_view::npos || !error.substr(at).starts_with(kBefore)) return {};
  at += kBefore.size();
  if (at < error.size() && error[at] == 's') ++at;
  std::vector<int> ranks;
  while (at < error.size() && error[at] == ' ') {
    int rank = 0;
    const auto [end, failed] = std::from_chars(error.data() + at + 1, error.data() + error.size(), rank);
    if (failed != std::errc()) break;
    ranks.push_back(rank);
    at = static_cast<std::size_t>(end - error.data());
    if (at < error.size() && error[at] == ',')
      ++at;
    else
      break;
  }
  return ranks;
}

// The chief's view of the other processes. Each mark is read once: all decisions of a look are of the same marks.
struct Membership::Look {
  std::vector<std::optional<HereMark>> marks;  // by seat; none for seat 0, which is the chief
  std::vector<RankMembers::Member> here;
  std::vector<int> missing;
  std::vector<int> cut_off;
  bool all_known = true;  // each missing one has ended, or was not in the last group
  bool trained = false;   // a process in `here` was in a group before
};

Membership::Membership(const Options& options, std::function<bool()> stopping)
    : options_(options), stopping_(std::move(stopping)), token_(new_token()) {}

void Membership::check_stopping() const {
  if (stopping_()) fail(Code::kCancelled, "the run was stopped while other ranks were waited for");
}

void Membership::note_here(OpenDirectory& rendezvous) const {
  rendezvous.replace(mark_name(options_.seat), text_of(HereMark{.token = token_,
                                                                .waits = next_,
                                                                .trained = !last_.members.empty(),
                                                                .seats = options_.seats,
                                                                .unmet = unmet_}));
}

void Membership::fail_other_size(int seat, int seats) const {
  fail(Code::kInvalidArgument, fmt::format("[B5101] rank {} was started as one of {} ranks, and rank {} as one of {}; "
                                           "start all ranks with the same number, WORLD_SIZE for instance",
                                           seat, seats, options_.seat, options_.seats));
}

bool Membership::holds(const RankMembers& group, const OpenDirectory& rendezvous) {
  const std::optional<RankMembers> newest = group_of(rendezvous);
  if (!newest || newest->meeting != group.meeting) return false;
  return std::all_of(group.members.begin(), group.members.end(),
                     [&](const auto& m) { return m.seat == 0 || is_seated(rendezvous, m.seat); });
}

void Membership::note_not_met(const std::vector<int>& ranks) {
  unmet_.clear();
  for (const int rank : ranks)
    if (rank >= 0 && rank < static_cast<int>(last_.members.size()))
      unmet_.push_back(last_.members[static_cast<std::size_t>(rank)].seat);
}

// ---- the chief ----

// Returns the members of the last group that the next one leaves out, because others did not meet them. Each one that
// the chief did not meet is out. If two others did not meet, the one in more such pairs is out.
std::vector<int> Membership::cut_off(const Look& look) const {
  if (options_.on_lost != LostRank::kContinue) return {};
  std::vector<std::pair<int, int>> pairs;
  for (const int seat : unmet_) pairs.emplace_back(0, seat);
  for (const RankMembers::Member& m : last_.members) {
    const std::optional<HereMark>& mark = look.marks[static_cast<std::size_t>(m.seat)];
    if (!mark || mark->token != m.token || mark->waits != last_.generation + 1) continue;
    for (const int seat : mark->unmet) pairs.emplace_back(m.seat, seat);
  }
  std::vector<int> out;
  for (;;) {
    int worst = 0;
    std::size_t most = 0;
    for (const RankMembers::Member& m : last_.members) {
      std::size_t count = 0;
      for (const auto& [one, other] : pairs)
        if (one == m.seat || other == m.seat) count += one == 0 || other == 0 ? pairs.size() : 1;
      if (m.seat != 0 && count != 0 && count >= most) worst = m.seat, most = count;
    }
    if (worst == 0) return out;
    out.push_back(worst);
    std::erase_if(pairs, [&](const auto& pair) { return pair.first == worst || pair.second == worst; });
  }
}

Membership::Look Membership::look_at(const OpenDirectory& rendezvous) const {
  Look look;
  look.marks.resize(static_cast<std::size_t>(options_.seats));
  for (int seat = 1; seat < options_.seats; ++seat)
    look.marks[static_cast<std::size_t>(seat)] = mark_of(rendezvous, seat);
  const std::vector<int> out = cut_off(look);
  for (int seat = 1; seat < options_.seats; ++seat) {
    const std::optional<HereMark>& mark = look.marks[static_cast<std::size_t>(seat)];
    if (mark && last_.rank_of({seat, mark->token}) && std::find(out.begin(), out.end(), seat) != out.end()) {
      look.cut_off.push_back(seat);
      continue;
    }
    const bool other_size = mark && mark->seats != options_.seats;
    if (other_size && last_.members.empty() && !mark->trained) fail_other_size(seat, mark->seats);
    const bool seated = is_seated(rendezvous, seat);
    const bool still_in_last = mark && last_.rank_of({seat, mark->token}) && mark->waits <= last_.generation;
    if (mark && seated && !still_in_last && !other_size) {
      look.here.push_back({seat, mark->token});
      look.trained = look.trained || mark->trained;
      continue;
    }
    look.missing.push_back(seat);
    const bool was_in = std::any_of(last_.members.begin(), last_.members.end(),
                                    [&](const RankMembers::Member& m) { return m.seat == seat; });
    if (last_.members.empty() || (was_in && seated)) look.all_known = false;
  }
  return look;
}

// If all ranks have come, it is enough at once. A chief that follows another one cannot know the remaining ranks, so it
// waits.
bool Membership::is_enough(const Look& look, double waited_secs) const {
  if (look.missing.empty() && look.cut_off.empty()) return true;
  const bool later = !last_.members.empty() || look.trained;
  if (options_.on_lost != LostRank::kContinue || !later) return false;
  if (static_cast<int>(look.here.size()) + 1 < options_.min_ranks) return false;
  return look.all_known || waited_secs >= options_.timeout_secs;
}

void Membership::fail_missing(const Look& look) const {
  std::vector<int> all = look.missing;
  all.insert(all.end(), look.cut_off.begin(), look.cut_off.end());
  std::sort(all.begin(), all.end());
  std::string names;
  for (const int seat : all) names += (names.empty() ? "" : ", ") + std::to_string(seat);
  const std::string who = fmt::format("{}{} of {}", all.size() == 1 ? "rank " : "ranks ", names, options_.seats);
  const std::string wait = " (" + secs_text("max_wait_secs", options_.max_wait_secs) + ")";
  const bool later = !last_.members.empty() || look.trained;
  if (later && options_.on_lost == LostRank::kContinue)
    fail(Code::kDeadlineExceeded,
         fmt::format("[B5102] {} did not come, and those that are left are fewer than cluster.min_ranks = {}{}", who,
                     options_.min_ranks, wait));
  fail(Code::kDeadlineExceeded,
       fmt::format("[B5102] {}{}{}", who, later ? " was lost, and none came in its place" : " did not come", wait));
}

RankMembers Membership::form(OpenDirectory& run, const std::string& name) {
  const auto begun = SteadyClock::now();
  const std::int64_t generation = next_++;
  note_here(*run.open_directory(kRendezvousName));
  for (;;) {
    check_stopping();
    const std::unique_ptr<OpenDirectory> rendezvous = run.open_directory(kRendezvousName);
    const Look look = look_at(*rendezvous);
    if (is_enough(look, secs_since(begun))) {
      RankMembers group{fmt::format("{}-{}", name, generation), generation, {{0, token_}}};
      group.members.insert(group.members.end(), look.here.begin(), look.here.end());
      rendezvous->replace(kGroupName, text_of(group));
      unmet_.clear();
      return last_ = group;
    }
    if (secs_since(begun) > options_.max_wait_secs) fail_missing(look);
    std::this_thread::sleep_for(kBetweenMarks);
  }
}

// ---- a worker ----

RankMembers Membership::join(WorkerSeat& seat, FileSystem& files) {
  const auto begun = SteadyClock::now();
  SteadyClock::time_point seen = begun;
  std::string marked;
  bool left_out = false;
  std::optional<HereMark> chief;
  for (;;) {
    check_stopping();
    const std::string name = seat.look();
    try {
      if (!name.empty()) {
        seen = SteadyClock::now();
        if (name != rendezvous_) {
          rendezvous_ = name;
          next_ = 0;
          unmet_.clear();
        }
        const std::unique_ptr<OpenDirectory> rendezvous = files.open_directory(seat.directory());
        if (name != marked) {
          note_here(*rendezvous);
          marked = name;
        }
        chief = mark_of(*rendezvous, 0);
        const std::optional<RankMembers> group = group_of(*rendezvous);
        if (group && group->generation >= next_ && group->rank_of({options_.seat, token_})) {
          next_ = group->generation + 1;
          unmet_.clear();
          return last_ = *group;
        }
        left_out = left_out || (group && group->generation >= next_ && !last_.members.empty());
      }
    } catch (const Error&) {  // the folder is being made anew
      marked.clear();
    }
    if (chief && chief->seats != options_.seats) fail_other_size(0, chief->seats);
    if (!rendezvous_.empty() && name.empty() && secs_since(seen) > kGoneSecs)
      fail(Code::kNotFound, "[B5102] rank 0 has ended the run");
    if (left_out && secs_since(begun) > options_.max_wait_secs)
      fail(Code::kDeadlineExceeded,
           "[B5102] the other ranks continued without this one, which they did not reach, and formed no "
           "further group within " +
               secs_text("max_wait_secs", options_.max_wait_secs));
    if (secs_since(begun) > options_.max_wait_secs)
      fail(Code::kDeadlineExceeded, fmt::format("[B5102] rank 0 of {}{}{}", options_.seats,
                                                last_.members.empty() ? " began no group with this rank within "
                                                                      : " began no other group with this rank within ",
                                                secs_text("max_wait_secs", options_.max_wait_secs)));
    std::this_thread::sleep_for(kBetweenMarks);
  }
}

}  // namespace belay::runtime
