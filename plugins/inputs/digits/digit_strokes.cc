// SPDX-License-Identifier: Apache-2.0
#include "digit_strokes.h"

#include <cstddef>

namespace digits_input {
namespace {

// Takes x and y of each point in hundredths of the box.
template <class... Coordinates>
constexpr Stroke stroke(Stroke::Kind kind, Coordinates... xy) {
  static_assert(sizeof...(xy) % 2 == 0 && sizeof...(xy) / 2 <= kMaxPoints);
  const int values[] = {xy...};
  Stroke s{kind, sizeof...(xy) / 2, {}};
  for (int i = 0; i < s.size; ++i)
    s.points[i] = {static_cast<float>(values[2 * i]) / 100, static_cast<float>(values[2 * i + 1]) / 100};
  return s;
}
template <class... Coordinates>
constexpr Stroke lines(Coordinates... xy) {
  return stroke(Stroke::kLines, xy...);
}
template <class... Coordinates>
constexpr Stroke curve(Coordinates... xy) {
  return stroke(Stroke::kCurve, xy...);
}
template <class... Strokes>
constexpr Style style(const Strokes&... strokes) {
  return {sizeof...(strokes), {strokes...}};
}

constexpr std::size_t kStyles = 3;  // of each digit

constexpr Style kDigits[10][kStyles] = {
    // 0: closed at the top; begun inside, so that the ends cross; narrow and leaning
    {style(curve(50, 0, 18, 14, 5, 50, 18, 86, 50, 100, 82, 86, 95, 50, 82, 14, 50, 0)),
     style(curve(66, 10, 30, 4, 8, 40, 14, 80, 45, 100, 82, 85, 95, 45, 75, 8, 42, 6)),
     style(curve(58, 0, 30, 16, 16, 55, 24, 90, 44, 100, 70, 84, 84, 45, 78, 10, 58, 0))},
    // 1: a bar; with a flag; with a flag and a foot
    {style(lines(50, 0, 50, 100)), style(lines(24, 26, 55, 0, 55, 100)),
     style(lines(28, 22, 52, 0, 52, 100), lines(20, 100, 84, 100))},
    // 2: a straight foot; a loop in the corner; round shoulders and a wavy foot
    {style(curve(10, 26, 30, 3, 70, 3, 86, 28, 60, 62, 8, 100), lines(8, 100, 94, 100)),
     style(curve(12, 22, 40, 0, 78, 10, 80, 36, 50, 72, 16, 98, 8, 84, 26, 80, 60, 96, 96, 94)),
     style(curve(6, 34, 20, 6, 56, 0, 88, 20, 74, 54, 36, 82, 10, 98, 50, 92, 94, 100))},
    // 3: two bows; a flat top; a small notch
    {style(curve(10, 14, 45, 0, 82, 16, 72, 40, 36, 47), curve(36, 47, 78, 53, 92, 76, 60, 99, 26, 99, 6, 84)),
     style(lines(12, 2, 84, 2, 44, 40), curve(44, 40, 84, 50, 88, 82, 50, 100, 8, 88)),
     style(curve(12, 20, 40, 2, 76, 12, 70, 38, 50, 47, 80, 58, 80, 88, 44, 100, 10, 86))},
    // 4: open; closed; open with a curved left arm
    {style(lines(24, 2, 10, 58, 94, 58), lines(70, 14, 66, 100)), style(lines(70, 100, 70, 0, 6, 68, 96, 68)),
     style(curve(16, 0, 10, 34, 26, 54, 56, 52, 82, 40), lines(84, 0, 70, 100))},
    // 5: corners; one curve like an S; a short roof
    {style(lines(86, 2, 26, 2, 20, 44), curve(20, 44, 52, 36, 84, 50, 84, 84, 46, 100, 8, 90)),
     style(curve(86, 6, 54, 2, 28, 10, 22, 38, 50, 44, 82, 56, 84, 84, 50, 100, 24, 98, 8, 86)),
     style(lines(26, 6, 24, 46), curve(24, 46, 66, 44, 88, 70, 56, 98, 10, 94), lines(26, 6, 78, 2))},
    // 6: round; a straight stem; a wide sweep
    {style(curve(78, 4, 40, 20, 14, 54, 16, 84, 44, 100, 78, 90, 84, 66, 60, 50, 30, 56, 14, 74)),
     style(lines(62, 0, 14, 72), curve(14, 72, 36, 50, 72, 52, 84, 76, 58, 100, 24, 96, 14, 72)),
     style(curve(90, 10, 50, 2, 14, 36, 10, 76, 40, 100, 74, 86, 72, 62, 44, 54, 12, 70))},
    // 7: plain; with a bar; with a serif and a bent stem
    {style(lines(8, 3, 90, 3, 40, 100)), style(lines(10, 4, 90, 4, 44, 100), lines(30, 50, 86, 48)),
     style(lines(12, 20, 14, 4, 86, 6), curve(86, 6, 66, 36, 50, 66, 46, 100))},
    // 8: a crossing in the middle; begun at the upper right; two rings
    {style(curve(50, 47, 18, 26, 50, 0, 82, 24, 50, 47, 12, 76, 50, 100, 88, 76, 50, 47)),
     style(curve(80, 16, 48, 0, 18, 20, 42, 44, 78, 62, 82, 86, 46, 100, 14, 82, 34, 56, 70, 36, 80, 16)),
     style(curve(50, 46, 24, 30, 42, 2, 76, 10, 74, 38, 50, 46),
           curve(50, 46, 14, 60, 16, 92, 50, 100, 84, 88, 80, 60, 50, 46))},
    // 9: a straight stem; a round tail; a stem that bends back
    {style(curve(82, 24, 60, 2, 26, 6, 14, 32, 36, 52, 68, 46, 82, 24), lines(82, 20, 72, 100)),
     style(curve(82, 28, 62, 2, 26, 6, 14, 32, 36, 52, 70, 44, 82, 20, 86, 56, 74, 88, 44, 100, 14, 90)),
     style(curve(76, 14, 46, 0, 16, 18, 20, 44, 50, 50, 76, 32, 80, 10, 76, 40, 60, 72, 42, 100))},
};

}  // namespace

const Style& digit_style(int digit, float pick) {
  return kDigits[digit][static_cast<std::size_t>(pick * static_cast<float>(kStyles))];
}

}  // namespace digits_input
