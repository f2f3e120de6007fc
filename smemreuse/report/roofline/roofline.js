"use strict";

const figure = JSON.parse(document.getElementById("data").textContent);
const darkness = matchMedia("(prefers-color-scheme: dark)");

const CONFIG = {
  responsive: true,
  displaylogo: false,
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
};

/** Draws in the colours of the page. */
function draw() {
  const ink = getComputedStyle(document.body).color;
  const layout = structuredClone(figure.layout);
  layout.modebar = { bgcolor: "rgba(0,0,0,0)" };
  layout.font = { color: ink, family: "system-ui, sans-serif" };
  const paper = getComputedStyle(document.body).backgroundColor;
  layout.hoverlabel = { bgcolor: paper, bordercolor: ink, font: { color: ink } };
  for (const axis of ["xaxis", "yaxis"]) {
    layout[axis] = { ...layout[axis], gridcolor: "rgba(128,128,128,.25)", linecolor: "rgba(128,128,128,.6)" };
  }
  Plotly.react("roofline", figure.data, layout, CONFIG);
}

if (figure) {
  draw();
  darkness.addEventListener("change", draw);
} else {
  document.getElementById("roofline").hidden = true;
}
