"use strict";
// Before, target and answer in 3-D: balls of the elements' colours, cell edges, marks; the views turn together.
const CrystalView = (() => {
  const FEW_SITES = 150;
  const MOST_LABELS = 12;
  // What plotly.js shows of a scene from this far, from top to bottom, in units of its aspect ratio (measured).
  const FAR = 1.9, VISIBLE = 2.13, FILLED = 0.94;

  // A ball from an icosahedron whose triangles are split `times` times.
  function ball(times) {
    const t = (1 + Math.sqrt(5)) / 2;
    let points = [[-1, t, 0], [1, t, 0], [-1, -t, 0], [1, -t, 0], [0, -1, t], [0, 1, t], [0, -1, -t], [0, 1, -t],
      [t, 0, -1], [t, 0, 1], [-t, 0, -1], [-t, 0, 1]];
    let faces = [[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2], [10, 7, 6],
      [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5], [2, 4, 11], [6, 2, 10], [8, 6, 7], [9, 8, 1]];
    for (let round = 0; round < times; round++) {
      const middles = new Map(), next = [];
      const middle = (a, b) => {
        const key = a < b ? a + "-" + b : b + "-" + a;
        if (!middles.has(key)) {
          points.push(points[a].map((x, k) => (x + points[b][k]) / 2));
          middles.set(key, points.length - 1);
        }
        return middles.get(key);
      };
      const unit = (p) => { const r = Math.hypot(...p); return p.map((x) => x / r); };
      points = points.map(unit);
      for (const [a, b, c] of faces) {
        const ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
        next.push([a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]);
      }
      faces = next;
    }
    return { points: points.map((p) => { const r = Math.hypot(...p); return p.map((x) => x / r); }), faces };
  }
  const BALLS = [ball(1), ball(2)];

  function balls(spheres, shape, extra) {
    const mesh = { type: "mesh3d", x: [], y: [], z: [], i: [], j: [], k: [], text: [], hoverinfo: "text",
      lighting: { ambient: 0.42, diffuse: 0.62, specular: 0.5, roughness: 0.35, fresnel: 0.1 },
      // In the frame of the viewer, in which z points away from him: from above, over the left shoulder.
      lightposition: { x: -60000, y: 90000, z: -80000 }, flatshading: false, showscale: false, ...extra };
    for (const { at, radius, text } of spheres) {
      const start = mesh.x.length;
      for (const [x, y, z] of shape.points) {
        mesh.x.push(at[0] + radius * x); mesh.y.push(at[1] + radius * y); mesh.z.push(at[2] + radius * z);
        mesh.text.push(text);
      }
      for (const [a, b, c] of shape.faces) { mesh.i.push(start + a); mesh.j.push(start + b); mesh.k.push(start + c); }
    }
    return mesh;
  }

  function read([matrix, species, flat]) {
    const symbols = species === "" ? [] : species.split(" ");
    const rows = [matrix.slice(0, 3), matrix.slice(3, 6), matrix.slice(6, 9)];
    return { rows, symbols, sites: symbols.map((_, n) => [flat[3 * n] / 1000, flat[3 * n + 1] / 1000, flat[3 * n + 2] / 1000]) };
  }

  const sum = (...vectors) => [0, 1, 2].map((k) => vectors.reduce((total, v) => total + v[k], 0));
  const corners = (rows) => [0, 1].flatMap((i) => [0, 1].flatMap((j) => [0, 1].map((k) =>
    [0, 1, 2].map((n) => i * rows[0][n] + j * rows[1][n] + k * rows[2][n]))));

  function edges(rows) {
    const [a, b, c] = rows, o = [0, 0, 0];
    const lines = [];
    for (const [along, one, other] of [[a, b, c], [b, a, c], [c, a, b]])
      for (const from of [o, one, other, sum(one, other)]) lines.push(from, sum(from, along), [null, null, null]);
    return lines;
  }

  const line = (points, style, extra) => ({ type: "scatter3d", mode: "lines", hoverinfo: "skip", line: style,
    x: points.map((p) => p[0]), y: points.map((p) => p[1]), z: points.map((p) => p[2]), ...extra });

  function traces(crystal, marks) {
    const { rows, symbols, sites } = crystal;
    const { elements, marks: kinds } = Report.colours;
    const shape = BALLS[sites.length <= FEW_SITES ? 1 : 0];
    const element = (symbol) => elements[symbol] || ["#888888", 0.5];
    const found = [];
    const edge = edges(rows);
    found.push(line(edge, { color: Report.colour("--soft"), width: 2 }));
    for (const symbol of new Set(symbols)) {
      const members = [];
      symbols.forEach((each, n) => {
        if (each === symbol)
          members.push({ at: sites[n], radius: element(symbol)[1], text: `${symbol}${n} (${sites[n].map((v) => v.toFixed(2)).join(", ")}) Å` });
      });
      found.push(balls(members, shape, { color: element(symbol)[0] }));
    }
    for (const kind of new Set(marks.map((mark) => mark[0]))) {
      const [color, meaning] = kinds[kind];
      const mine = marks.filter((mark) => mark[0] === kind);
      const halo = (mark) => mark[1] === null ? element(mark[2])[1] : 1.32 * element(mark[2])[1] + 0.16;
      found.push(balls(mine.map((mark) => ({ at: mark[3], radius: halo(mark), text: `${meaning}: ${mark[5] || mark[2]}` })), BALLS[1],
        { color, opacity: 0.38, lighting: { ambient: 1, diffuse: 0, specular: 0 } }));
      const ways = mine.filter((mark) => mark[4]);
      if (ways.length) {
        found.push(line(ways.flatMap((mark) => [mark[4], mark[3], [null, null, null]]), { color, width: 5, dash: kind === "wrong" ? "dash" : "solid" }));
        found.push({ type: "scatter3d", mode: "markers", hoverinfo: "skip", marker: { color, size: 5, symbol: kind === "wrong" ? "diamond-open" : "circle-open" },
          x: ways.map((m) => m[4][0]), y: ways.map((m) => m[4][1]), z: ways.map((m) => m[4][2]) });
      }
      const ghosts = mine.filter((mark) => mark[1] === null);
      if (ghosts.length)
        found.push({ type: "scatter3d", mode: "markers", hoverinfo: "skip", marker: { color, size: 6, symbol: kind === "removed" ? "x" : "circle-open" },
          x: ghosts.map((m) => m[3][0]), y: ghosts.map((m) => m[3][1]), z: ghosts.map((m) => m[3][2]) });
    }
    return found;
  }

  // Names of the axes and of marked sites. Annotations, unlike texts of a trace, are never hidden by an atom.
  function labels({ rows }, marks) {
    const axes = rows.map((v, n) => {
      const beyond = 1 + 0.7 / Math.hypot(...v);
      return { x: beyond * v[0], y: beyond * v[1], z: beyond * v[2], text: `<i>${"abc"[n]}</i>`, showarrow: false,
        font: { ...Report.font(), size: 13 } };
    });
    if (marks.length > MOST_LABELS) return axes;
    return axes.concat(marks.filter((mark) => mark[5]).map((mark, n) => ({
      // To the right and to the left in turn, and higher each time, so that neighbours do not cover each other.
      x: mark[3][0], y: mark[3][1], z: mark[3][2], text: mark[5], showarrow: true, arrowhead: 0, arrowwidth: 1,
      arrowcolor: Report.colour("--soft"), ax: n % 2 ? -16 : 16, ay: -24 - 9 * (n % 4), xanchor: n % 2 ? "right" : "left", borderpad: 1,
      font: { ...Report.font(), size: 11 }, bgcolor: Report.colour("--scene"), opacity: 0.88,
    })));
  }

  const TURN = -70 * Math.PI / 180, TILT = 18 * Math.PI / 180;
  const EYE = { x: FAR * Math.cos(TILT) * Math.cos(TURN), y: FAR * Math.cos(TILT) * Math.sin(TURN), z: FAR * Math.sin(TILT) };

  // One box for all views, so that they have one scale; and how many units an Å is, so that all fits a view of this shape.
  function box(crystals, marks, shape) {
    const points = crystals.flatMap((crystal) => [...crystal.sites, ...corners(crystal.rows)]).concat(
      marks.flatMap((mark) => (mark[4] ? [mark[3], mark[4]] : [mark[3]])));
    const range = (values, margin) => [Math.min(...values) - margin, Math.max(...values) + margin];
    const ranges = [0, 1, 2].map((k) => range(points.map((p) => p[k]), 0.8));
    const along = (axis) => { const [low, high] = range(points.map((p) => p[0] * axis[0] + p[1] * axis[1] + p[2] * axis[2]), 0.8); return high - low; };
    const wide = along([-Math.sin(TURN), Math.cos(TURN), 0]);
    const tall = along([-Math.sin(TILT) * Math.cos(TURN), -Math.sin(TILT) * Math.sin(TURN), Math.cos(TILT)]);
    return { ranges, unit: FILLED * VISIBLE * Math.min(1 / tall, shape / wide) };
  }

  function layout({ ranges, unit }, annotations) {
    const hidden = (k) => ({ visible: false, range: ranges[k], showspikes: false });
    const length = (k) => unit * (ranges[k][1] - ranges[k][0]);
    return {
      scene: {
        annotations, xaxis: hidden(0), yaxis: hidden(1), zaxis: hidden(2), dragmode: "orbit", bgcolor: Report.colour("--scene"),
        // Equal scales along the three axes.
        aspectmode: "manual", aspectratio: { x: length(0), y: length(1), z: length(2) },
        camera: { eye: EYE, up: { x: 0, y: 0, z: 1 }, center: { x: 0, y: 0, z: 0 }, projection: { type: "orthographic" } },
      },
      margin: { l: 0, r: 0, t: 0, b: 0 }, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", font: Report.font(),
      hoverlabel: { bgcolor: Report.colour("--card"), bordercolor: Report.colour("--soft"), font: Report.font() },
    };
  }

  // What one view was turned or zoomed to is given to the others, at most once a frame.
  function turnTogether(views) {
    let waiting = null;
    for (const view of views) {
      const follow = (event) => {
        const change = {};
        for (const key of ["scene.camera", "scene.aspectratio"]) if (event && event[key]) change[key] = event[key];
        if (view.following || !Object.keys(change).length) return;
        if (waiting === null) requestAnimationFrame(() => {
          const { source, change } = waiting;
          waiting = null;
          for (const other of views) {
            if (other === source) continue;
            other.following = true;
            Plotly.relayout(other, structuredClone(change)).finally(() => { other.following = false; });
          }
        });
        waiting = { source: view, change: { ...(waiting ? waiting.change : {}), ...change } };
      };
      view.on("plotly_relayouting", follow);
      view.on("plotly_relayout", follow);
    }
  }

  // Draw crystals (null for none) into boxes, with their marks.
  async function show(boxes, crystals, marks) {
    const found = crystals.map((crystal) => crystal && read(crystal));
    const view = boxes.find(Boolean);
    const shown = box(found.filter(Boolean), marks.flat(), view.clientWidth / view.clientHeight);
    const drawn = [];
    for (let n = 0; n < boxes.length; n++) {
      if (!found[n]) continue;
      await Plotly.newPlot(boxes[n], traces(found[n], marks[n]), layout(shown, labels(found[n], marks[n])), { displayModeBar: false, responsive: true, scrollZoom: true });
      drawn.push(boxes[n]);
    }
    turnTogether(drawn);
  }

  return { show, clear: (boxes) => boxes.forEach((each) => Plotly.purge(each)) };
})();
