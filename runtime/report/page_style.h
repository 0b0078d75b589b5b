// SPDX-License-Identifier: Apache-2.0
// The look of a page: light or dark like the reader's system, one column on a narrow screen, plain on paper. The file
// contains it, so it has no character that markup would need to escape.
#pragma once

namespace belay::runtime {

inline constexpr const char* kPageStyle = R"(
:root{color-scheme:light dark;--page:#f5f6f8;--card:#fff;--ink:#1b2330;--soft:#5b6676;--line:#e2e6eb;--grid:#edf0f3;
--accent:#2457d6;--good:#0f7b4f;--bad:#b42318;--c0:#2563eb;--c1:#e0590b;--c2:#0d8a5b;--c3:#8b3fd9;--c4:#b0790a;
--c5:#0b7a92;--c6:#c2255c;--c7:#5a6675}
@media (prefers-color-scheme:dark){:root{--page:#12161c;--card:#1a2028;--ink:#e6eaf0;--soft:#9aa6b6;--line:#2b333e;
--grid:#252c36;--accent:#7ea6ff;--good:#4cc38a;--bad:#ff8a7a;--c0:#6fa0ff;--c1:#ff9a56;--c2:#4cc38a;--c3:#c08cff;
--c4:#e0b04a;--c5:#4fc3dc;--c6:#ff7aa8;--c7:#a0acbb}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main,header,footer{max-width:1240px;margin:0 auto;padding:0 24px}
header{padding-top:28px}
h1{font-size:26px;line-height:1.2;margin:0;overflow-wrap:anywhere}
h2{font-size:18px;margin:40px 0 12px;scroll-margin-top:12px}
h3{font-size:14px;margin:20px 0 8px;color:var(--soft);font-weight:600;overflow-wrap:anywhere}
p{margin:6px 0}
.soft,footer{color:var(--soft)}
footer{padding-top:32px;padding-bottom:32px;font-size:13px}
nav{margin:14px 0 0;display:flex;flex-wrap:wrap;gap:4px 16px;font-size:14px}
a{color:var(--accent);text-decoration:none}
a:hover{text-decoration:underline}
.badge{display:inline-block;padding:1px 10px;border-radius:999px;font-size:13px;font-weight:600;border:1px solid currentColor}
.good{color:var(--good)}.bad{color:var(--bad)}.info{color:var(--accent)}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(164px,1fr));gap:12px;margin:20px 0 0}
.tile,figure,.card{background:var(--card);border:1px solid var(--line);border-radius:10px}
.tile{padding:12px 16px}
.tile b{display:block;font-size:18px;line-height:1.25;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.tile span{font-size:13px;color:var(--soft)}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(440px,100%),1fr));gap:14px}
.charts figure{max-width:820px}
figure{margin:0;padding:14px 16px 8px;min-width:0}
figcaption{font-weight:600;font-size:14px;overflow-wrap:anywhere}
.legend{display:flex;flex-wrap:wrap;gap:0 16px;font-size:12.5px;color:var(--soft);font-weight:400;
font-variant-numeric:tabular-nums}
.key{display:inline-block;width:16px;height:0;border-top:3px solid;margin-right:6px;vertical-align:middle}
.key.dashed{border-top-style:dashed}
.key.k0{color:var(--c0)}.key.k1{color:var(--c1)}.key.k2{color:var(--c2)}.key.k3{color:var(--c3)}
.key.k4{color:var(--c4)}.key.k5{color:var(--c5)}.key.k6{color:var(--c6)}.key.k7{color:var(--c7)}
svg{display:block;max-width:100%}
svg.chart{width:100%;height:auto;font-size:11px}
.grid{stroke:var(--grid)}.axis{stroke:var(--line)}
.tick-x,.tick-y,.tick-row{fill:var(--soft);font-variant-numeric:tabular-nums}
.tick-x{text-anchor:middle}.tick-y{text-anchor:end}
.line{fill:none;stroke-width:1.7;stroke-linejoin:round;stroke-linecap:round}
.line.dashed{stroke-dasharray:5 3}
.band{stroke:none;fill-opacity:.16}
.line.c0,.ring.c0{stroke:var(--c0)}.line.c1,.ring.c1{stroke:var(--c1)}.line.c2,.ring.c2{stroke:var(--c2)}
.line.c3,.ring.c3{stroke:var(--c3)}.line.c4,.ring.c4{stroke:var(--c4)}.line.c5,.ring.c5{stroke:var(--c5)}
.line.c6,.ring.c6{stroke:var(--c6)}.line.c7,.ring.c7{stroke:var(--c7)}
.band.c0,.dot.c0{fill:var(--c0)}.band.c1,.dot.c1{fill:var(--c1)}.band.c2,.dot.c2{fill:var(--c2)}
.band.c3,.dot.c3{fill:var(--c3)}.band.c4,.dot.c4{fill:var(--c4)}.band.c5,.dot.c5{fill:var(--c5)}
.band.c6,.dot.c6{fill:var(--c6)}.band.c7,.dot.c7{fill:var(--c7)}
.ring{fill:none;stroke-width:1.8}
.mark{stroke:var(--soft);stroke-dasharray:2 3}.mark-word{fill:var(--soft);text-anchor:middle}
.mark-word.end{text-anchor:end}
.ridge{fill:var(--c0);fill-opacity:.28;stroke:var(--c0);stroke-width:1.1}
.span{fill:var(--c0)}.span.again{fill:var(--c4)}.span-word{fill:var(--soft)}
.box{fill:var(--page);stroke:var(--line)}.box.trained{stroke:var(--c0)}
.box-name{font-size:13px;font-weight:600;text-anchor:middle;fill:var(--ink)}
.box-word{font-size:11px;text-anchor:middle;fill:var(--soft)}
.arrow{fill:none;stroke:var(--soft);stroke-width:1.2}.tip{fill:var(--soft)}
.card{padding:4px 16px;overflow-x:auto}
table{border-collapse:collapse;min-width:60%;font-size:14px;font-variant-numeric:tabular-nums}
th{text-align:left;color:var(--soft);font-weight:600;font-size:13px;white-space:nowrap}
th,td{padding:7px 18px 7px 0;border-bottom:1px solid var(--line);vertical-align:top}
tbody tr:last-child td{border-bottom:0}
.dense td,.dense th{padding-top:3px;padding-bottom:3px;border-bottom:0}
.share{height:10px;min-width:1px;background:var(--c0);border-radius:2px}
td.n,th.n{text-align:right;white-space:nowrap}
td.wide{overflow-wrap:anywhere;min-width:160px}
code,pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{margin:0;padding:8px 0;white-space:pre-wrap;overflow-wrap:anywhere}
details{margin:12px 0}
summary{cursor:pointer;color:var(--accent);font-size:14px}
.images{display:flex;flex-wrap:wrap;gap:14px}
.images div{font-size:12.5px;color:var(--soft)}
.images img{display:block;min-width:84px;max-width:320px;image-rendering:pixelated;border:1px solid var(--line)}
.scroll{overflow:auto;max-height:900px}
@media print{body{background:#fff}figure,.tile,.card{break-inside:avoid}nav{display:none}}
)";

}  // namespace belay::runtime
