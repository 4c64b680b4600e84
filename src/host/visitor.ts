import type { IncomingHttpHeaders } from "node:http";
import { isbot, isbotPatterns } from "isbot";
import type { Visitor } from "../visit/decide-visit.ts";
import { readPlatform } from "../visit/platform.ts";
import { createRecent } from "./recent.ts";

/** Who visits, as far as a request tells. */
export type IncomingVisitor = Required<Visitor> & {
  /** Whether a person is at the other end, who will see where the link leads. */
  readonly isPerson: boolean;
};

const keptAgents = 2000;
/** Longer ones are made up, and are looked at again each time. */
const keptLength = 400;

/** Every browser begins with one of these, whoever made it; a program has a name of its own. */
const browsers = /^(?:Mozilla|Opera)\//;
/** Programs that fetch what a person told them to, and of which isbot says that they are bots. */
const tools = /^(?:curl|wget|httpie|postmanruntime|insomnia|bruno)\b/i;

/**
 * Apps that show pages to people, on whose names isbot stumbles. On a phone they count for nothing:
 * a bot that says that it is one gives itself away by more than these.
 */
const stumbles = ["|", " News", "Feed"];

function isBotOnPhone(agent: string): boolean {
  const patterns = isbotPatterns(agent).map((pattern) => new RegExp(pattern, "i"));
  return patterns.some((pattern) => !stumbles.some((words) => pattern.test(words)));
}

export function createVisitorReader(): (headers: IncomingHttpHeaders) => IncomingVisitor {
  const kept = createRecent<IncomingVisitor>(keptAgents);

  function readAgent(agent: string): IncomingVisitor {
    const known = kept.find(agent);
    if (known !== undefined) return known;
    const platform = readPlatform(agent);
    const seems = agent !== "" && !tools.test(agent) && isbot(agent);
    const bot = seems && (platform === "desktop" || isBotOnPhone(agent));
    const guest = { platform, bot, isPerson: !bot && browsers.test(agent) };
    if (agent.length <= keptLength) kept.keep(agent, guest);
    return guest;
  }

  return (headers) => {
    const guest = readAgent(headers["user-agent"] ?? "");
    return guest.isPerson && isAhead(headers) ? { ...guest, isPerson: false } : guest;
  };
}

/** Fetched in case somebody follows the link: nobody has yet. */
function isAhead(headers: IncomingHttpHeaders): boolean {
  return ["purpose", "sec-purpose", "x-purpose", "x-moz"].some((name) => {
    const purpose = headers[name];
    return typeof purpose === "string" && /prefetch|prerender|preview/i.test(purpose);
  });
}
