// SPDX-License-Identifier: Apache-2.0
#include "draw_digit.h"

#include <belay/philox.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "digit_strokes.h"

namespace digits_input {
namespace {

// The differences between hands. They are tuned: a linear model reads about 90 % of the eval examples, a hidden layer
// of 256 about 98 %. Units are pixels, unless a comment names others.
constexpr float kHeight = 18.5f;      // of a digit
constexpr float kAspect = .66f;       // width / height
constexpr float kScaleSpread = .16f;  // of height and width, relative
constexpr float kSlant = .24f;        // shear, standard deviation
constexpr float kTurn = .08f;         // tangent of half the angle, standard deviation
constexpr float kShift = .9f;         // standard deviation
constexpr float kWobble = .042f;      // of each control point, in the unit box, standard deviation
constexpr float kMinRadius = .7f;     // the pen's
constexpr float kMaxRadius = 1.7f;
constexpr float kMinSoft = .45f;  // half the width of a line's fading edge
constexpr float kMaxSoft = 1.1f;
constexpr float kNoise = 26.f;   // grey levels, at most
constexpr float kMinInk = .62f;  // of full contrast, at least

constexpr int kSpanPieces = 4;  // straight pieces per span of a curve

class Random {
 public:
  Random(std::uint64_t key, std::uint64_t example) : words_(key, example) {}
  std::uint32_t word() { return words_.next(); }
  float uniform() { return belay::uniform_float(word()); }
  float between(float lo, float hi) { return lo + (hi - lo) * uniform(); }
  // Returns a bell-shaped number with mean 0 and standard deviation 1, within +-3.5: the sum of four bytes.
  float bell() {
    const std::uint32_t w = word();
    const int sum = static_cast<int>((w & 255) + (w >> 8 & 255) + (w >> 16 & 255) + (w >> 24)) - 510;
    return static_cast<float>(sum) * (1 / 147.8f);
  }
  // Makes triangular numbers with mean 0, within +-1: the sum of two bytes.
  void fill_with_grain(float* grain) {
    for (int i = 0; i < kPixels; i += 2) {
      const std::uint32_t w = word();
      grain[i] = static_cast<float>(static_cast<int>((w & 255) + (w >> 8 & 255)) - 255) * (1 / 255.f);
      grain[i + 1] = static_cast<float>(static_cast<int>((w >> 16 & 255) + (w >> 24)) - 255) * (1 / 255.f);
    }
  }

 private:
  belay::PhiloxSequence words_;
};

// Limits v to [0, high]. It takes values, unlike std::clamp, so that its loop becomes vector instructions.
float limit(float v, float high) {
  const float low = v > 0 ? v : 0;
  return low < high ? low : high;
}

// Maps the unit box to pixels.
struct Hand {
  float xx, xy, yx, yy, x0, y0;
  Point operator()(Point p) const { return {xx * p.x + xy * p.y + x0, yx * p.x + yy * p.y + y0}; }
};

Hand make_hand(Random& random) {
  const float height = kHeight * (1 + kScaleSpread * std::clamp(random.bell(), -1.8f, 1.8f));
  const float width = kHeight * kAspect * (1 + 1.3f * kScaleSpread * std::clamp(random.bell(), -1.8f, 1.8f));
  const float slant = kSlant * random.bell();
  const float t = kTurn * random.bell();
  const float cosine = (1 - t * t) / (1 + t * t), sine = 2 * t / (1 + t * t);
  // The matrix is turn * slant * scale, about the middle of the box.
  Hand h{};
  h.xx = cosine * width;
  h.xy = (-cosine * slant - sine) * height;
  h.yx = sine * width;
  h.yy = (-sine * slant + cosine) * height;
  const float middle = kSide * .5f;
  h.x0 = middle + kShift * random.bell() - (h.xx + h.xy) * .5f;
  h.y0 = middle + kShift * random.bell() - (h.yx + h.yy) * .5f;
  return h;
}

// Keeps each pixel's squared distance to the nearest piece of the pen's path, if that is within reach.
class Canvas {
 public:
  explicit Canvas(float reach) : reach_(reach) { std::fill(squared_, squared_ + kPixels, kFar); }

  void line(Point a, Point b) {
    const int x0 = first(std::min(a.x, b.x)), x1 = last(std::max(a.x, b.x));
    const int y0 = first(std::min(a.y, b.y)), y1 = last(std::max(a.y, b.y));
    const float dx = b.x - a.x, dy = b.y - a.y;
    const float inverse = 1 / std::max(dx * dx + dy * dy, 1e-6f);
    for (int y = y0; y <= y1; ++y) {
      float* row = squared_ + static_cast<std::ptrdiff_t>(y) * kSide;
      const float py = static_cast<float>(y) + .5f - a.y;
      for (int x = x0; x <= x1; ++x) {
        const float px = static_cast<float>(x) + .5f - a.x;
        const float along = limit((px * dx + py * dy) * inverse, 1);
        const float ex = px - along * dx, ey = py - along * dy;
        row[x] = std::min(row[x], ex * ex + ey * ey);
      }
    }
  }

  // Draws a spline of Catmull and Rom.
  void curve(const Point* p, int size) {
    Point from = p[0];
    for (int i = 0; i + 1 < size; ++i) {
      const Point &a = p[std::max(i - 1, 0)], &b = p[i], &c = p[i + 1], &d = p[std::min(i + 2, size - 1)];
      for (int k = 1; k <= kSpanPieces; ++k) {
        const float t = static_cast<float>(k) / kSpanPieces;
        const Point to{spline(a.x, b.x, c.x, d.x, t), spline(a.y, b.y, c.y, d.y, t)};
        line(from, to);
        from = to;
      }
    }
  }

  float squared(int pixel) const { return squared_[pixel]; }

 private:
  static constexpr float kFar = 1e6f;
  static float spline(float a, float b, float c, float d, float t) {
    return b + .5f * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  }
  // Pixel i has its centre at i + 0.5. Adding kSide makes the argument positive, so that the cast rounds down.
  int first(float low) const { return std::max(static_cast<int>(low - reach_ + (kSide + .5f)) - kSide, 0); }
  int last(float high) const { return std::min(static_cast<int>(high + reach_ + (kSide - .5f)) - kSide, kSide - 1); }

  float reach_;
  float squared_[kPixels];
};

void write_digit(const Style& style, Random& random, Canvas& canvas) {
  const Hand hand = make_hand(random);
  for (int s = 0; s < style.size; ++s) {
    const Stroke& stroke = style.strokes[s];
    Point path[kMaxPoints];
    for (int i = 0; i < stroke.size; ++i) {
      const Point p = stroke.points[i];
      const float x = p.x + kWobble * random.bell();
      path[i] = hand({x, p.y + kWobble * random.bell()});
    }
    if (stroke.kind == Stroke::kCurve) {
      canvas.curve(path, stroke.size);
    } else {
      for (int i = 0; i + 1 < stroke.size; ++i) canvas.line(path[i], path[i + 1]);
    }
  }
}

// Returns the label: the first word of the stream of an example's image.
int label_of(std::uint32_t word) { return static_cast<int>(std::uint64_t{word} * 10 >> 32); }

}  // namespace

int digit_label(std::uint64_t key, std::uint64_t example) { return label_of(Random(key, example).word()); }

void draw_digit(std::uint64_t key, std::uint64_t example, std::uint8_t* pixels) {
  Random random(key, example);
  const int label = label_of(random.word());
  const Style& style = digit_style(label, random.uniform());
  const float radius = random.between(kMinRadius, kMaxRadius);
  const float soft = random.between(kMinSoft, kMaxSoft);
  const float ink = 255 * random.between(kMinInk, 1);
  const float noise = random.between(0, kNoise);
  Canvas canvas(radius + soft);
  write_digit(style, random, canvas);
  float grain[kPixels];
  random.fill_with_grain(grain);
  const float edge = radius + soft, fade = 1 / (2 * soft);
  for (int i = 0; i < kPixels; ++i) {
    const float grey = limit((edge - std::sqrt(canvas.squared(i))) * fade, 1);
    pixels[i] = static_cast<std::uint8_t>(static_cast<int>(limit(ink * grey + noise * grain[i], 255)));
  }
}

}  // namespace digits_input
