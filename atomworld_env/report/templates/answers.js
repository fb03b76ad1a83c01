"use strict";
// The browser of single answers. Whatever a model wrote reaches the page through textContent only.
(() => {
  const island = document.getElementById("answer-data");
  if (!island) return;
  const PAGE = 100;
  const byId = (id) => document.getElementById(id);
  const state = byId("answers-state");
  const { runs, marks: markKinds, elements, verdicts } = Report.colours;
  let data, chosen = [], shown = 0, current = null, scenes = [], turn = 0;

  const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/gu;
  // Characters that would not be seen, or would turn the direction of what follows, and halves of a pair are spelt out.
  const visible = (text) => String(text).replace(INVISIBLE, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = visible(text);
    return made;
  }
  const add = (parent, ...children) => { parent.append(...children); return parent; };
  function glyph(run) {
    const made = element("span", "glyph", runs[run].glyph);
    made.style.color = runs[run].colour;
    return made;
  }
  function dot(verdict) {
    const made = element("span", "verdict-dot");
    made.style.background = verdicts[verdict][1];
    return made;
  }
  const wordsOf = (verdict) => (verdicts[verdict] ? verdicts[verdict][0] : verdict);
  const ångström = (value) => length(value) + " Å";
  const length = (value) => (value < 0.0005 ? "0" : value.toFixed(value < 0.1 ? 3 : 2));
  // Points have no unit, and no cell.
  const distance = (value, task) => length(value) + (task.cell ? " Å" : "");
  const size = (task) => `${task.sites} ${task.cell ? "sites" : "points"}`;

  async function unpacked(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function fill(select, pairs) {
    for (const [value, text] of pairs) {
      const option = element("option", "", text);
      option.value = value;
      select.append(option);
    }
  }

  function start() {
    fill(byId("f-run"), runs.map((run, n) => [n, run.label]));
    fill(byId("f-action"), [...new Set(data.tasks.map((task) => task.action))].map((name) => [name, name.replace(/_/g, " ")]));
    const seen = new Set(data.answers.map((answer) => answer.verdict));
    fill(byId("f-verdict"), Object.keys(verdicts).filter((name) => seen.has(name)).map((name) => [name, wordsOf(name)]));
    if (runs.length === 1) byId("f-run").parentElement.hidden = true;
    for (const field of document.querySelectorAll(".filters select, .filters input")) field.addEventListener("input", filter);
    const form = document.querySelector(".filters");
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));
    state.hidden = true;
    byId("browser").hidden = false;
    filter();
  }

  function filter() {
    const [run, action, verdict, right] = ["f-run", "f-action", "f-verdict", "f-right"].map((id) => byId(id).value);
    const low = Number(byId("f-low").value || 0), high = Number(byId("f-high").value || Infinity);
    const text = byId("f-text").value.trim().toLowerCase();
    chosen = [];
    data.answers.forEach((answer, n) => {
      const task = data.tasks[answer.task];
      if (run !== "" && answer.run !== Number(run)) return;
      if (action && task.action !== action) return;
      if (verdict && answer.verdict !== verdict) return;
      if (right === "right" && !answer.right) return;
      if (right === "wrong" && answer.right) return;
      if (right === "paper-only" && !(answer.paper && !answer.right)) return;
      if (task.sites < low || task.sites > high) return;
      if (text && !task.id.toLowerCase().includes(text)) return;
      chosen.push(n);
    });
    byId("count").textContent = `${chosen.length} of ${data.answers.length} answers`;
    byId("list").replaceChildren();
    shown = 0;
    more();
  }

  function more() {
    const list = byId("list");
    list.querySelector(".more")?.parentElement.remove();
    for (const n of chosen.slice(shown, shown + PAGE)) list.append(entry(n));
    shown = Math.min(chosen.length, shown + PAGE);
    if (shown < chosen.length) {
      const button = element("button", "more", `show ${Math.min(PAGE, chosen.length - shown)} more`);
      button.type = "button";
      button.addEventListener("click", more);
      list.append(add(element("li"), button));
    }
  }

  function entry(n) {
    const answer = data.answers[n], task = data.tasks[answer.task];
    const button = element("button");
    button.type = "button";
    button.dataset.answer = n;
    const what = add(element("span", "what"), dot(answer.verdict), document.createTextNode(
      `${wordsOf(answer.verdict)}${answer.distance === undefined ? "" : ", " + distance(answer.distance, task)} · ${size(task)}`));
    add(button, glyph(answer.run), element("span", "id", task.id + (answer.sample ? ` #${answer.sample + 1}` : "")),
      element("span", "", answer.reward === undefined ? "" : answer.reward.toFixed(2)), what);
    button.addEventListener("click", () => open(n));
    if (n === current) button.setAttribute("aria-current", "true");
    return add(element("li"), button);
  }

  function step(by) {
    const at = chosen.indexOf(current) + by;
    if (at < 0 || at >= chosen.length) return;
    while (at >= shown) more();
    open(chosen[at]);
    document.querySelector(`#list [data-answer="${current}"]`)?.scrollIntoView({ block: "nearest" });
  }

  function open(n) {
    current = n;
    for (const button of document.querySelectorAll("#list [aria-current]")) button.removeAttribute("aria-current");
    document.querySelector(`#list [data-answer="${n}"]`)?.setAttribute("aria-current", "true");
    const answer = data.answers[n], task = data.tasks[answer.task], detail = byId("detail");
    CrystalView.clear(scenes);
    scenes = [];
    detail.replaceChildren();
    const steps = element("div", "steps");
    for (const [text, by] of [["← previous", -1], ["next →", 1]]) {
      const button = element("button", "step", text);
      button.type = "button";
      button.addEventListener("click", () => step(by));
      steps.append(button);
    }
    add(detail, add(element("div", "detail-head"), element("h3", "", task.id), steps),
      add(element("p", "facts-line"), glyph(answer.run), document.createTextNode(visible(
        `${runs[answer.run].label}${answer.sample ? `, answer ${answer.sample + 1}` : ""} · ${task.action.replace(/_/g, " ")} · ${size(task)}${task.cell ? `, ${task.cell}` : ""} · ${task.structure}`))),
      element("blockquote", "", task.prompt), outcome(answer, task));
    if (answer.message) detail.append(element("p", "message", answer.message));
    if (task.shown) detail.append(text("What was shown", task.shown));
    const first = turn += 1;
    if (task.target !== undefined) {
      const boxes = sceneBoxes(detail, answer, task);
      detail.append(keys(answer, task), changes(answer, task));
      draw(boxes, answer, task, first);
    }
    if (task.expected) detail.append(text("A right answer", task.expected));
    detail.append(rawText(answer));
  }

  function outcome(answer, task) {
    const line = element("p", "outcome");
    const part = (name, value, className) => line.append(add(element("span"), document.createTextNode(name + " "), element("b", className, value)));
    if (answer.verdict === Report.colours.unanswered) {
      part("strict", "unanswered: counted as not right", "wrong");
      return line;
    }
    part("strict", wordsOf(answer.verdict), answer.right ? "right" : "wrong");
    if (answer.verdict_paper)
      part("paper", wordsOf(answer.verdict_paper) + (answer.floor && answer.paper ? " (the unchanged input passes, too)" : ""), answer.paper ? "right" : "wrong");
    part("reward", answer.reward.toFixed(3));
    if (answer.distance !== undefined) part("largest displacement", distance(answer.distance, task));
    if (answer.max_dist !== undefined && answer.scale !== undefined)
      part("paper max_dist", `${answer.max_dist.toFixed(3)} (${ångström(answer.max_dist * answer.scale)})`);
    if (answer.tokens !== undefined) part("tokens", String(answer.tokens));
    if (answer.truncated) part("", "cut off at the length limit", "wrong");
    return line;
  }

  function sceneBoxes(detail, answer, task) {
    const grid = element("div", "scenes");
    const names = [["before", data.crystals[task.before]], [task.one_of_many ? "a known solution" : "target", data.crystals[task.target]], ["answer", answer.crystal === undefined ? null : data.crystals[answer.crystal]]]
      .filter(([name]) => name !== "before" || task.before !== undefined);
    const boxes = names.map(([name, crystal]) => {
      const view = element("div", "view");
      const sites = crystal ? `${crystal[1] === "" ? 0 : crystal[1].split(" ").length} sites` : "";
      if (!crystal) {
        view.classList.add("empty");
        view.textContent = answer.verdict === Report.colours.unanswered ? "There is no answer." : "No crystal could be read, or it is too large to draw.";
      }
      grid.append(add(element("div", "scene"), add(element("p"), element("b", "", name), document.createTextNode(" " + sites)), view));
      view.dataset.view = name;
      return crystal ? view : null;
    });
    detail.append(grid);
    return boxes;
  }

  const answerMarks = (answer, task) => answer.crystal === undefined ? [] : answer.marks || task.marks[1];

  function draw(boxes, answer, task, mine) {
    const crystals = [data.crystals[task.target], answer.crystal === undefined ? null : data.crystals[answer.crystal]];
    const marks = [task.marks[1], answerMarks(answer, task)];
    if (task.before !== undefined) {
      crystals.unshift(data.crystals[task.before]);
      marks.unshift(task.marks[0]);
    }
    scenes = boxes.filter(Boolean);
    requestAnimationFrame(() => {
      if (mine !== turn) return;
      CrystalView.show(boxes, crystals, marks);
    });
  }

  function keys(answer, task) {
    const line = element("p", "keys");
    const swatch = (color, text) => {
      const round = element("span", "swatch");
      round.style.background = color;
      line.append(add(element("span"), round, document.createTextNode(text)));
    };
    const symbols = new Set([task.before, task.target, answer.crystal].filter((n) => n !== undefined).flatMap((n) => data.crystals[n][1].split(" ")));
    for (const symbol of symbols) if (elements[symbol]) swatch(elements[symbol][0], symbol);
    const kinds = new Set([...task.marks.flat(), ...answerMarks(answer, task)].map((mark) => mark[0]));
    for (const kind of kinds) swatch(markKinds[kind][0], "around an atom: " + markKinds[kind][1]);
    line.append(element("span", "", "Drag to turn all, scroll to zoom."));
    return line;
  }

  function changes(answer, task) {
    const box = element("div", "changes");
    const part = (title, found) => {
      if (!found) return;
      const rows = element("div", "rows"), table = element("table"), body = element("tbody");
      for (const row of found.rows) body.append(add(element("tr"), ...row.map((text) => element("td", "", text))));
      if (found.more) body.append(add(element("tr"), element("td", "", `and ${found.more} more`)));
      add(rows, add(table, body));
      box.append(add(element("div"), element("h4", "", title), element("p", "", found.summary), rows));
    };
    part(task.one_of_many ? "The known solution" : "The edit that was asked for", task.edit);
    part("What the answer did", answer.did);
    part("Against the target", answer.fault);
    if (!answer.fault && answer.crystal !== undefined && (!task.one_of_many || answer.crystal === task.target)) part("Against the target", { summary: "the same crystal", rows: [], more: 0 });
    return box;
  }

  function text(title, content) {
    const box = element("details");
    box.open = content.length < 4000;
    return add(box, element("summary", "", title), element("pre", "answer", content));
  }

  function rawText(answer) {
    const box = element("details");
    box.open = true;
    const length = answer.length || 0;
    box.append(element("summary", "", answer.text === undefined ? "Answer: none" : `Answer as it was written, ${length.toLocaleString("en")} characters`));
    if (answer.text === undefined) return box;
    const pre = element("pre", "answer", answer.text);
    if (answer.tail) {
      const left = length - answer.text.length - answer.tail.length;
      pre.append(element("span", "cut", `… ${left.toLocaleString("en")} of ${length.toLocaleString("en")} characters are left out here; results.jsonl has them all …`), document.createTextNode(visible(answer.tail)));
    }
    return add(box, pre);
  }

  if (typeof DecompressionStream === "undefined") {
    state.textContent = "This browser is too old to unpack the answers (it lacks DecompressionStream). Tables and figures are complete; the answers are in results.jsonl.";
    return;
  }
  unpacked(Report.bytesOf("answer-data")).then((found) => { data = found; start(); }, (error) => {
    state.textContent = "The answers could not be unpacked: " + error;
  });
})();
