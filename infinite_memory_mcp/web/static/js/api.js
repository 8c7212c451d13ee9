// Each call runs one public method of the store, by the name that the reference of Python gives it.

/** Why a call was not answered: `kind` is the name of the error, `message` a sentence that a person can act on. */
export class ApiError extends Error {
  constructor(kind, message, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

const UNREACHABLE = "The server does not answer. What you see may be old; the page goes on by itself when the server is back.";

/** Where the session is kept: for the origin, which has the port, so that no other program of this machine gets it, and for the prefix before a proxy. */
const SESSION = `infinite-memory-session${location.pathname.replace(/\/$/, "")}`;

/** Where it is kept which questions were put off. */
export const PUT_OFF = "infinite-memory-put-off";

/** The milliseconds between two looks at work that goes on. */
const EVERY = 700;

async function post(path, body, { type = "application/json", signal, isAsking = false } = {}) {
  let response;
  const headers = { "content-type": type, "x-memory-session": localStorage.getItem(SESSION) ?? "" };
  try {
    // Below the page: a proxy may serve it under a prefix.
    response = await fetch(`.${path}`, { method: "POST", headers, body, signal, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("Unreachable", UNREACHABLE);
  }
  const text = await response.text().catch(() => { throw new ApiError("Unreachable", UNREACHABLE); });
  let answer = {};
  try {
    answer = text ? JSON.parse(text) : {};
  } catch {
    answer = { error: { kind: "NoJson", message: `The server answered ${response.status} and no data. Is it an Infinite Memory server?` } };
  }
  if (answer.work && !isAsking) return follow(answer.work);
  if (response.ok && !answer.error) return answer;
  const { kind = "Refused", message = `The server answered ${response.status}.` } = answer.error ?? {};
  const error = new ApiError(kind, message, response.status);
  if (response.status === 401) dispatchEvent(new CustomEvent("signed-out", { detail: error }));
  throw error;
}

/**
 * Wait for the end of work that goes on at the server, with or without this page, and return the answer to its call.
 * Meanwhile the event `work` says how far it is.
 */
export async function follow(work) {
  let now = work;
  const say = () => dispatchEvent(new CustomEvent("work", { detail: now }));
  try {
    for (;;) {
      say();
      await new Promise((resolve) => { setTimeout(resolve, EVERY); });
      const answer = await post("/api/work", JSON.stringify({ id: work.id }), { isAsking: true }).catch((error) => {
        // The server is away: it is asked again until it is back.
        if (error.kind !== "Unreachable" && error.status !== 503) throw error;
        return { work: now };
      });
      if (!answer.work) return answer;
      now = answer.work;
    }
  } finally {
    now = { ...now, state: "over" };
    say();
  }
}

/** Run a method of the store, such as `call("journal.entries", {limit: 5})`, and return its plain value. */
export const call = async (method, parameters, options) => (await callPage(method, parameters, options)).value;

/** The same as `{value, next, entry}`: a long value goes on at `next`, the `from` of the next call; `entry` is that of a change. */
export const callPage = (method, parameters = {}, { signal } = {}) => post(`/api/${method}`, JSON.stringify(parameters), { signal });

/** Send a file, and return what its import did, or would do with `dryRun`; unless `newer` is false, it may be a later version of a file of its name. */
export async function importFile(file, { dryRun = true, ...options } = {}) {
  const query = new URLSearchParams({ name: file.name, dry_run: String(dryRun), ...options });
  return (await post(`/api/import?${query}`, file, { type: "application/octet-stream" })).value;
}

/** All entries of a list or an object that the server sends in pages, such as five thousand scopes. */
export async function callAll(method, parameters = {}) {
  let { value, next } = await callPage(method, parameters);
  while (next) {
    const page = await callPage(method, { ...parameters, from: next });
    value = Array.isArray(value) ? [...value, ...page.value] : { ...value, ...page.value };
    next = page.next;
  }
  return value;
}

/** Sign in by `{code}` or `{key}`. */
export const signIn = async (how) => localStorage.setItem(SESSION, (await post("/sign-in", JSON.stringify(how))).value);

/** End the session. */
export async function signOut() {
  await post("/sign-out", "{}");
  localStorage.clear();
}

/** Say an error as a sentence to a person. */
export function explain(error) {
  if (error instanceof ApiError) return `${error.message.slice(0, 1).toUpperCase()}${error.message.slice(1)}`;
  return `The page made a mistake: ${error.message}. Reload it, and tell the maintainers if it happens again.`;
}
