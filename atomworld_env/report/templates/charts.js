"use strict";
// The figures of the page. Colours of text and grid follow the page; everything else comes from the data.
const Report = (() => {
  const bytesOf = (id) => Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (c) => c.charCodeAt(0));
  const data = JSON.parse(new TextDecoder().decode(bytesOf("figure-data")));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const font = () => ({ family: getComputedStyle(document.documentElement).fontFamily, size: 12, color: colour("--ink") });

  function themed(figure, width) {
    const layout = structuredClone(figure.layout);
    const line = colour("--line"), soft = colour("--soft");
    for (const axis of [layout.xaxis, layout.yaxis]) {
      Object.assign(axis, { gridcolor: line, linecolor: line, automargin: true, fixedrange: true, tickfont: { color: soft } });
      if (axis.title) Object.assign(axis.title, { font: { size: 12, color: soft }, standoff: 8 });
    }
    if (width < 420 && layout.xaxis.tickformat === ".0%") layout.xaxis.dtick = 0.5;
    for (const shape of layout.shapes || []) shape.line.color = shape.line.dash ? soft : line;
    for (const note of layout.annotations || []) note.font = { color: colour("--ink"), size: 12 };
    layout.font = font();
    layout.hoverlabel = { bgcolor: colour("--card"), bordercolor: soft, font: font(), align: "left" };
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.height = figure.height;
    layout.showlegend = Boolean(layout.showlegend);
    return layout;
  }

  function drawFigures() {
    for (const box of document.querySelectorAll("[data-figure]")) {
      const figure = data.figures[box.dataset.figure];
      box.style.minHeight = figure.height + "px";
      Plotly.react(box, structuredClone(figure.data), themed(figure, box.clientWidth),
        { displayModeBar: false, responsive: true, doubleClick: false, scrollZoom: false });
    }
  }

  drawFigures();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawFigures);
  return { bytesOf, colour, font, colours: data.colours };
})();
