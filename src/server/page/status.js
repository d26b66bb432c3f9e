// @ts-nocheck -- it runs in a browser, whose globals the compiler is not told of
/* oxlint-disable typescript/no-unsafe-argument, typescript/no-unsafe-assignment, typescript/no-unsafe-call, typescript/no-unsafe-member-access, typescript/no-unsafe-return -- for the same reason nothing has a type here */
const runningMax = 30;
const endedMax = 15;
const chipsMax = 24;
const countedMax = 1000;
const noticeMs = 8000;
/** Longer than it takes to ask again: what is still wrong stays, what is mended goes. */
const problemMs = 20_000;
const hourMs = 3_600_000;
const ends = ["Success", "Failed", "Terminated"];
const tokenKey = "heddle-token";

const at = (id) => document.getElementById(id);

/** What is known of instances, by id. Those that ended long ago are forgotten. */
const instances = new Map();
/** Ids and times of those that ended within the last hour, by status. */
const endings = { Success: new Map(), Failed: new Map(), Terminated: new Map() };
let unfinishedCount = 0;
let cursor;
let socket;
let retryMs = 500;
let timers = [];

// Elements. User text goes into textContent only.

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== undefined && child !== ""));
  return made;
}

function empty(text) {
  return element("p", "empty", text);
}

let noticeTimer;

function notice(text, isBad = false) {
  const shown = at("notice");
  shown.textContent = text;
  shown.className = isBad ? "notice bad" : "notice";
  shown.hidden = text === "";
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => (shown.hidden = true), isBad ? problemMs : noticeMs);
}

function pill(id, text, tone) {
  at(id).textContent = text;
  at(id).className = `pill ${tone}`;
}

/** Old news are shown as such. */
function heard(isHeard) {
  at("main").classList.toggle("stale", !isHeard);
}

function shortId(id) {
  return id.length > 22 ? `…${id.slice(-12)}` : id;
}

/** A link carries no token. */
function idLink(id) {
  const isOpen = !sessionStorage.getItem(tokenKey);
  const link = element(isOpen ? "a" : "span", "id", shortId(id));
  if (isOpen) link.href = `/api/instance/${encodeURIComponent(id)}`;
  link.title = id;
  return link;
}

function span(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < hourMs) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
  if (ms < 48 * hourMs) return `${Math.floor(ms / hourMs)} h ${Math.floor((ms % hourMs) / 60_000)} min`;
  return `${Math.floor(ms / (24 * hourMs))} days`;
}

/** For what goes on while one looks: it would only flicker. */
function wholeSeconds(ms) {
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s` : span(ms);
}

function ago(time) {
  const ms = Date.now() - time;
  return ms < 2000 ? "just now" : `${wholeSeconds(ms)} ago`;
}

// The server.

class Refused extends Error {}

function headers() {
  const token = sessionStorage.getItem(tokenKey);
  return token ? { authorization: `Bearer ${token}` } : {};
}

async function ask(path, options = {}) {
  const answer = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  if (answer.status === 401) throw new Refused();
  const body = await answer.json();
  if (!path.startsWith("/api/")) return body;
  if (body.code !== 0) throw new Error(body.message);
  return body.data;
}

function signIn() {
  for (const timer of timers) clearInterval(timer);
  const old = socket;
  socket = undefined;
  old?.close();
  at("main").hidden = true;
  at("pills").hidden = true;
  at("sign-in").hidden = false;
  if (sessionStorage.getItem(tokenKey)) notice("That token is not known here, or is no longer valid.", true);
  at("token").focus();
}

function useToken() {
  sessionStorage.setItem(tokenKey, at("token").value.trim());
  at("token").value = "";
  notice("");
  void begin();
}

/** Runs what asks the server; a refusal leads to the question for a token. */
async function tried(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refused) signIn();
    else if (error instanceof TypeError) {
      pill("health", "not reachable", "bad");
      heard(false);
    } else notice(error.message, true);
    return undefined;
  }
}

// Instances.

function isOver(status) {
  return ends.includes(status);
}

/** Of two lives under one id, the younger; of one life, the later turn. */
function isOlder(known, change) {
  if (known === undefined) return false;
  if (change.createdAt !== known.createdAt) return change.createdAt < known.createdAt;
  return change.turn !== undefined && known.turn !== undefined && change.turn < known.turn;
}

/** Schedules are instances too, which run for ever; they are shown beside their workflows. */
function isOurs({ workflowName }) {
  return workflowName === "heddle.schedule";
}

/** What was pushed after a question was asked is newer than the answer. */
function isNews(known, askedAt) {
  return known !== undefined && known.heardAt >= askedAt;
}

/** Takes a change that was pushed, or what was answered to a question of that time. */
function learn(change, askedAt) {
  if (isOurs(change)) return;
  const before = instances.get(change.instanceId);
  if (isOlder(before, change) || (askedAt !== undefined && isNews(before, askedAt))) return;
  const isSameLife = before?.createdAt === change.createdAt;
  const known = isSameLife ? before : { nodes: new Map() };
  if (!isSameLife || isOver(known.status) !== isOver(change.status)) count(before, change);
  Object.assign(known, {
    id: change.instanceId,
    workflow: change.workflowName,
    createdAt: change.createdAt,
    startedAt: change.startedAt ?? known.startedAt,
    endedAt: change.endedAt ?? undefined,
    status: change.status,
    reason: change.reason ?? undefined,
    pausing: change.pausing ?? false,
    turn: change.turn ?? known.turn,
    heardAt: askedAt ?? performance.now(),
  });
  for (const node of change.nodes ?? []) known.nodes.set(node.nodeId, { name: node.name, status: node.status });
  instances.set(known.id, known);
}

function count(before, change) {
  const was = before !== undefined && !isOver(before.status);
  const is = !isOver(change.status);
  if (was !== is) unfinishedCount += is ? 1 : -1;
  if (isOver(change.status)) endings[change.status].set(change.instanceId, change.endedAt ?? Date.now());
  else for (const status of ends) endings[status].delete(change.instanceId);
}

/** Keeps what is shown, and a few more. */
function forget() {
  const over = [...instances.values()].filter(({ status }) => isOver(status)).sort(byEnd);
  for (const { id } of over.slice(endedMax * 4)) instances.delete(id);
  const unfinished = [...instances.values()].filter(({ status }) => !isOver(status)).sort(byStart);
  for (const { id } of unfinished.slice(countedMax)) instances.delete(id);
  for (const status of ends) {
    for (const [id, time] of endings[status]) if (time < Date.now() - hourMs) endings[status].delete(id);
  }
}

const byEnd = (a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0);
const byStart = (a, b) => b.createdAt - a.createdAt;

/** As the store has it: at the beginning, and whenever changes were left out. */
async function readInstances() {
  const since = Date.now() - hourMs;
  const askedAt = performance.now();
  const [unfinished, over] = await Promise.all([
    ask(`/api/instance?status=Ready,Running,Paused&limit=${countedMax}`),
    ask(`/api/instance?status=${ends.join(",")}&limit=${countedMax}`),
  ]);
  const others = unfinished.items.filter((summary) => !isOurs(summary));
  const current = new Set(others.map(({ instanceId }) => instanceId));
  for (const [id, known] of instances) {
    if (!isOver(known.status) && !current.has(id) && !isNews(known, askedAt)) instances.delete(id);
  }
  for (const summary of over.items) {
    learn(summary, askedAt);
    if (summary.endedAt >= since) endings[summary.status].set(summary.instanceId, summary.endedAt);
  }
  for (const summary of others) learn(summary, askedAt);
  unfinishedCount = [...instances.values()].filter(({ status }) => !isOver(status)).length;
  await readNodes(others.slice(0, runningMax));
  forget();
  draw();
}

/** Lists have no nodes. */
async function readNodes(summaries) {
  const unknown = summaries.filter(({ instanceId }) => instances.get(instanceId)?.nodes.size === 0);
  await Promise.all(
    unknown.map(async ({ instanceId }) => {
      try {
        const askedAt = performance.now();
        const view = await ask(`/api/instance/${encodeURIComponent(instanceId)}`);
        learn({ ...view, nodes: view.tasks }, askedAt);
      } catch (error) {
        // It may be gone by now; what happened to it is pushed.
        if (error instanceof Refused) throw error;
      }
    }),
  );
}

// Live.

function connect() {
  const address = new URL("/ws", location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const token = sessionStorage.getItem(tokenKey);
  socket?.close();
  const mine = new WebSocket(address, token ? ["heddle", `heddle.bearer.${token}`] : ["heddle"]);
  socket = mine;
  mine.addEventListener("open", () => mine.send(JSON.stringify({ type: "subscribe", id: "1", all: true, cursor })));
  mine.addEventListener("message", ({ data }) => hear(JSON.parse(data)));
  mine.addEventListener("close", () => {
    if (socket !== mine) return;
    pill("live", "reconnecting", "wait");
    setTimeout(() => socket === mine && connect(), retryMs);
    retryMs = Math.min(retryMs * 2, 10_000);
  });
}

function hear(message) {
  if (message.cursor !== undefined) cursor = message.cursor;
  switch (message.type) {
    case "subscribed":
      retryMs = 500;
      pill("live", "live", "good");
      void tried(readInstances);
      break;
    case "changes":
      for (const change of message.changes) learn(change);
      soon(draw);
      soon(askServer, 700);
      break;
    case "skipped":
      pill("live", "busy: a sample", "wait");
      soon(() => tried(readInstances), 2000);
      break;
    case "error":
      notice(message.message, true);
      break;
  }
}

const planned = new Map();

/** Several times a second at most. */
function soon(work, ms = 120) {
  const name = work === draw ? "draw" : work === askServer ? "server" : "read";
  if (planned.has(name)) return;
  planned.set(
    name,
    setTimeout(() => {
      planned.delete(name);
      if (name === "draw") forget();
      else if (name === "read") pill("live", "live", "good");
      void work();
    }, ms),
  );
}

// Drawing.

function draw() {
  const all = [...instances.values()];
  const unfinished = all.filter(({ status }) => !isOver(status)).sort(byStart);
  const over = all.filter(({ status }) => isOver(status)).sort(byEnd);
  tile("count-running", Math.max(unfinishedCount, unfinished.length), countedMax);
  for (const status of ends) tile(`count-${status}`, endings[status].size, countedMax);
  const more = unfinished.length - runningMax;
  at("running-more").textContent = more > 0 ? `the newest ${runningMax} of ${unfinished.length}` : "";
  const cards = unfinished.slice(0, runningMax).map(card);
  at("running").replaceChildren(
    ...(cards.length > 0 ? cards : [empty("Nothing runs. Start a workflow to see it here.")]),
  );
  const overCount = ends.reduce((sum, status) => sum + endings[status].size, 0);
  at("ended-more").textContent = overCount > endedMax ? `the newest ${endedMax}` : "";
  const rows = over.slice(0, endedMax).map(endedRow);
  at("ended").replaceChildren(...(rows.length > 0 ? rows : [empty("Nothing has ended yet.")]));
}

function tile(id, number, max = Infinity) {
  at(id).textContent = number >= max ? `${max.toLocaleString("en")}+` : number.toLocaleString("en");
  at(id).parentElement.classList.toggle("zero", number === 0);
}

function card(instance) {
  const nodes = [...instance.nodes.values()];
  const done = nodes.filter(({ status }) => status !== "Pending" && status !== "Running").length;
  const state = instance.pausing ? "pausing" : instance.status === "Running" ? "" : instance.status.toLowerCase();
  const time = wholeSeconds(Date.now() - (instance.startedAt ?? instance.createdAt));
  const end = [state, nodes.length > 0 ? `${done} of ${nodes.length}` : "", time]
    .filter((part) => part !== "")
    .join(" · ");
  const line = element(
    "div",
    "line",
    element("span", "name", instance.workflow),
    idLink(instance.id),
    element("span", "end", end),
  );
  return element("div", `card ${instance.status}`, line, chips(nodes));
}

/** All of a few; of many, those that run or went wrong, below a bar of how far they are. */
function chips(nodes) {
  if (nodes.length === 0) return undefined;
  if (nodes.length <= chipsMax) return element("div", "chips", ...nodes.map(chip));
  const telling = nodes.filter(({ status }) => status !== "Pending" && status !== "Success" && status !== "Canceled");
  const shown = telling.slice(0, chipsMax).map(chip);
  if (telling.length > chipsMax) shown.push(element("span", "chip more", `and ${telling.length - chipsMax} more`));
  return element("div", "", bar(nodes), element("div", "chips", ...shown));
}

function chip({ name, status }) {
  const made = element("span", `chip ${status}`, name);
  made.title = `${name}: ${status}`;
  return made;
}

function bar(nodes) {
  const counts = new Map();
  for (const { status } of nodes) counts.set(status, (counts.get(status) ?? 0) + 1);
  const order = ["Success", "Skipped", "Failed", "TimeoutFailed", "Stopped", "Canceled", "Running", "Pending"];
  const parts = order.filter((status) => counts.has(status));
  const made = element("div", "bar");
  for (const status of parts) {
    const part = element("span", status);
    part.style.flexGrow = counts.get(status);
    made.append(part);
  }
  made.role = "img";
  made.ariaLabel = parts.map((status) => `${counts.get(status)} ${status}`).join(", ");
  made.title = made.ariaLabel;
  return made;
}

function endedRow(instance) {
  const lasted = instance.endedAt - (instance.startedAt ?? instance.createdAt);
  const line = element(
    "div",
    "line body",
    element("span", "name", instance.workflow),
    element("span", "state", instance.status),
    idLink(instance.id),
    element("span", "end", `${span(lasted)} · ${ago(instance.endedAt)}`),
    instance.reason ? element("span", "reason", instance.reason) : undefined,
  );
  return element("div", `item ${instance.status}`, element("span", "dot"), line);
}

async function drawWorkflows() {
  const { items } = await ask("/api/workflow?limit=200");
  const scheduled = items.filter(({ enableSchedule }) => enableSchedule);
  const details = await Promise.all(scheduled.map(({ name }) => ask(`/api/workflow/${encodeURIComponent(name)}`)));
  const next = new Map(details.map(({ name, nextFireTimes }) => [name, nextFireTimes[0]]));
  const rows = items.map((workflow) => workflowRow(workflow, next.get(workflow.name)));
  at("workflows").replaceChildren(
    ...(rows.length > 0
      ? rows
      : [empty("None yet. heddle workflow save <file> makes one; heddle dev app.ts brings those of a module.")]),
  );
}

function workflowRow({ name, kind, nodes, cronExpr }, nextTime) {
  const about = [
    kind === "code" ? "code" : nodes === null ? "DAG" : `DAG of ${nodes} node${nodes === 1 ? "" : "s"}`,
    nextTime === undefined ? "" : `next ${new Date(nextTime).toLocaleString()}`,
  ];
  const body = element(
    "div",
    "body",
    element("div", "line", element("span", "name", name)),
    element("div", "quiet", about.filter((part) => part !== "").join(" · ")),
  );
  if (cronExpr) body.title = cronExpr;
  const button = element("button", "", "Run");
  button.type = "button";
  button.setAttribute("aria-label", `Run ${name}`);
  button.addEventListener("click", () => tried(() => run(name, button)));
  return element("div", "item", body, button);
}

async function run(name, button) {
  button.disabled = true;
  try {
    const { instanceId } = await ask(`/api/workflow/${encodeURIComponent(name)}/trigger`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    notice(`${name} started as ${instanceId}.`);
  } finally {
    button.disabled = false;
  }
}

async function drawServer() {
  const [health, queue, cluster] = await Promise.all([
    ask("/actuator/health"),
    ask("/api/dag/monitor/queue"),
    ask("/api/cluster/status"),
  ]);
  heard(true);
  pill(
    "health",
    health.status === "UP" ? "up" : (health.reason ?? "not ready"),
    health.status === "UP" ? "good" : "bad",
  );
  tile("count-tasks", queue.running.total);
  tile("count-waiting", queue.waiting.total);
  const rows = cluster.members.map(({ address, status, isLeader }) => {
    const isSelf = address === cluster.selfAddress;
    const about = [status, isSelf ? "this one" : "", isLeader ? "oldest" : ""]
      .filter((part) => part !== "")
      .join(" · ");
    const tone = /^up$/i.test(status) ? "Success" : "Failed";
    const body = element("div", "body", element("div", "id", address), element("div", "quiet", about));
    return element("div", `item ${tone}`, element("span", "dot"), body);
  });
  at("members").replaceChildren(...(rows.length > 0 ? rows : [empty("This server, alone.")]));
}

/** How many tasks run is not pushed. */
function askServer() {
  return tried(drawServer);
}

/** Nobody looks at a tab in the background. */
function whileSeen(work, ms) {
  return setInterval(() => {
    if (!document.hidden) void work();
  }, ms);
}

async function begin() {
  for (const timer of timers) clearInterval(timer);
  const info = await tried(() => ask("/actuator/info"));
  if (info === undefined) {
    // A server that is starting, or restarting, is asked again; one that wants a token waits for it.
    if (at("sign-in").hidden) timers = [setTimeout(() => void begin(), 2000)];
    return;
  }
  at("sign-in").hidden = true;
  at("main").hidden = false;
  at("pills").hidden = false;
  at("metrics").hidden = Boolean(sessionStorage.getItem(tokenKey));
  at("version").textContent = info.version;
  connect();
  void askServer();
  void tried(drawWorkflows);
  timers = [whileSeen(askServer, 3000), whileSeen(() => tried(drawWorkflows), 15_000), whileSeen(draw, 1000)];
}

at("sign-in-form").addEventListener("submit", (event) => {
  // Nothing is sent: the page itself uses it.
  event.preventDefault();
  useToken();
});
void begin();
