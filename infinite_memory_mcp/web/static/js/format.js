// Moments in the viewer's own zone and words, short ids, and numbers.

const DAY = 86_400_000;
const day = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const full = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
const numbers = new Intl.NumberFormat("en-GB");

/** The moment that a text says; a day without a time begins at the viewer's midnight. */
const read = (moment) => new Date(/^\d{4}-\d\d-\d\d$/.test(moment) ? `${moment}T00:00` : moment);

/** The viewer's midnight that begins the day of a date, or of one some days later. */
export const midnight = (date, days = 0) => new Date(date.getFullYear(), date.getMonth(), date.getDate() + days);

/** The viewer's day of a date, as "2026-11-28". */
export const isoDay = (date) => [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0")).join("-");

/** How many days lie between today and a moment: -1 is yesterday. */
export const daysFromToday = (moment) => Math.round((midnight(read(moment)) - midnight(new Date())) / DAY);

/** A day in short words: "Today", "Yesterday", "Thu 5 Nov", "5 Nov 2024". */
export function sayDay(moment) {
  const days = daysFromToday(moment);
  if (days === 0) return "Today";
  if (days === -1) return "Yesterday";
  if (days === 1) return "Tomorrow";
  return (Math.abs(days) < 300 ? day : dayAndYear).format(read(moment)).replace(",", "");
}

/** A moment in short words: the time of day counts within a week only. */
export function sayMoment(moment) {
  return Math.abs(daysFromToday(moment)) < 7 ? `${sayDay(moment)}, ${sayTime(moment)}` : sayDay(moment);
}

/** The same words in the middle of a sentence: "until today". */
export const within = (say) => (moment) => say(moment).replace(/^(Today|Yesterday|Tomorrow)\b/, (word) => word.toLowerCase());

export const sayTime = (moment) => time.format(read(moment));

/** A whole moment, for a title. */
export const sayWhole = (moment) => full.format(read(moment));

const STEPS = [[60, "second"], [60, "minute"], [24, "hour"], [30, "day"], [12, "month"], [Infinity, "year"]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago, or ahead, a moment is: "3 minutes ago". */
export function sayAgo(moment) {
  let amount = (read(moment) - Date.now()) / 1000;
  if (Math.abs(amount) < 10) return "just now";
  for (const [size, unit] of STEPS) {
    if (Math.abs(amount) < size) return relative.format(Math.round(amount), unit);
    amount /= size;
  }
  return "";
}

/** A number with its word: "1 memory", "2,000 memories". */
export const count = (number, one, many = `${one}s`) => `${numbers.format(number)} ${number === 1 ? one : many}`;

export const sayNumber = (number) => numbers.format(number);

/** A scope in short: of a repository its name, without the host. */
export const sayScope = (name) => (name.startsWith("repo/") ? name.split("/").slice(-2).join("/") : name);

/** Bytes in the unit that a person would choose. */
export function saySize(bytes) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** step;
  return `${value < 10 && step ? value.toFixed(1) : Math.round(value)} ${units[step]}`;
}

/** The ending of an id, which is what people read aloud. */
export const shortId = (id) => (id.length > 12 ? id.slice(-8) : id);

/** The beginning of a text, in one line. */
export function shorten(text, length = 160) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= length ? line : `${line.slice(0, length - 1).trimEnd()}…`;
}

/** What the code calls a thing, as words: "code_change" is "code change". */
export const sayWord = (word) => String(word).replaceAll("_", " ");

const OPERATIONS = { remember: "Stored", revise: "Changed", erase: "Erased for good", link: "Linked", undo: "Taken back", dream: "Linked by the dreamer", import: "Brought in", merge: "Brought in from a backup", trigger: "Condition approved", mask: "Secrets masked" };

/** What an entry of the journal did, as a word or two. */
export const sayOperation = (name) => OPERATIONS[name] ?? sayWord(name).replace(/^./, (letter) => letter.toUpperCase());

const CLIENTS = { "claude-ai": "Claude", "claude-code": "Claude Code", "codex-mcp-client": "Codex", worker: "the upkeep", cli: "the command line", python: "Python", web: "this page", page: "this page" };

/** A client by the name that a person knows it by. */
export const sayClient = (name) => CLIENTS[name] ?? (name || "an unnamed client");
