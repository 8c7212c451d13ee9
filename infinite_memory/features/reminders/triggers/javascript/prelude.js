// Evaluated once in each fresh context, before the condition. It takes what the child process set
// as globals, puts `context`, `match_keys`, `match_keys_all` and a fixed time in their place, and
// returns the function that judges a condition.
(function () {
  'use strict';
  const { occurs, now, seed, context } = globalThis;
  const evaluate = globalThis.eval;
  const SystemDate = Date;
  const SystemPromise = Promise;
  for (const name of ['occurs', 'now', 'seed', 'performance']) delete globalThis[name];

  function define(target, name, value) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true });
  }

  function PresentDate(...parts) {
    if (new.target === undefined) return new SystemDate(now).toString();
    return Reflect.construct(SystemDate, parts.length === 0 ? [now] : parts, new.target);
  }
  PresentDate.prototype = SystemDate.prototype;
  define(PresentDate, 'name', 'Date');
  define(PresentDate, 'now', () => now);
  define(PresentDate, 'parse', SystemDate.parse);
  define(PresentDate, 'UTC', SystemDate.UTC);
  define(SystemDate.prototype, 'constructor', PresentDate);
  define(globalThis, 'Date', PresentDate);

  // Marsaglia's xorshift with 32 bits, https://doi.org/10.18637/jss.v008.i14
  let state = seed;
  define(Math, 'random', () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  });

  const single = ['user', 'assistant', 'system', 'tool'];
  const scopes = new Map([['any', null], ['both', ['user', 'assistant']], ...single.map((role) => [role, [role]])]);

  function choose(messages, scope, depth) {
    const roles = scopes.get(scope);
    if (roles === undefined) throw new RangeError(`there is no scope '${scope}': give any, both, ${single.join(', ')}`);
    const last = Array.isArray(messages) ? messages.slice(-depth) : [];
    return last.filter((message) => message && (roles === null || roles.includes(message.role)));
  }

  function listKeys(keys) {
    return Array.isArray(keys) ? keys : keys === undefined || keys === null ? [] : [keys];
  }

  function matches(key, content) {
    if (!(key instanceof RegExp)) {
      return occurs(String(key).toWellFormed(), String(content).toWellFormed());
    }
    key.lastIndex = 0;
    const holds = key.test(content);
    key.lastIndex = 0;
    return holds;
  }

  define(globalThis, 'match_keys', function match_keys(messages, keys, scope = 'any', depth = 4) {
    let count = 0;
    for (const message of choose(messages, scope, depth)) {
      if (!message.content) continue;
      for (const key of listKeys(keys)) if (matches(key, message.content)) count += 1;
    }
    return count;
  });

  define(globalThis, 'match_keys_all', function match_keys_all(messages, keys, scope = 'any', depth = 4) {
    const contents = choose(messages, scope, depth).map((message) => message.content || '');
    const all = listKeys(keys);
    if (contents.length === 0 || all.length === 0) return false;
    return all.every((key) => key instanceof RegExp
      ? matches(key, contents.join(' '))
      : contents.some((content) => matches(key, content)));
  });

  define(globalThis, 'context', JSON.parse(context));

  return function judge(source) {
    const value = evaluate(source);
    if (typeof value === 'function') return 'function';
    if (typeof value === 'object' && value instanceof SystemPromise) return 'promise';
    const isCount = Number.isInteger(value) && value >= 0;
    return typeof value === 'boolean' || isCount ? String(Boolean(value)) : 'other';
  };
})();
