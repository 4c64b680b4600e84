import { joinMarks, readLanguage, readVersion, type Marks } from "./marks.ts";

/** What a browser's request tells of its phone, without any script. */
export function readRequest(agent: string, languages: string | undefined): Marks {
  const [first = ""] = (languages ?? "").split(/[,;]/, 1);
  return joinMarks(readAgent(agent), readLanguage(first));
}

/** An iPad that says it is a Macintosh, and whatever is not of Apple, has no marks. */
function readAgent(agent: string): Marks {
  const [, device] = /\((iPhone|iPad|iPod)\b/.exec(agent) ?? [];
  if (device === undefined) return {};
  return { device: device.toLowerCase(), ...readSystem(agent) };
}

/**
 * Since iOS 26 every browser says 18_6 or 18_7 of the system, for ever, and Safari's own version
 * alone goes on: it is the system's. What stands there of an earlier system is true.
 */
function readSystem(agent: string): Marks {
  const [, safari] = /\bVersion\/(\d{1,3}(?:\.\d{1,3})?)/.exec(agent) ?? [];
  if (safari !== undefined) return readVersion(safari);
  const [, system = ""] = /\bOS (\d{1,3}(?:_\d{1,3})?)/.exec(agent) ?? [];
  return Number(system.replace("_", ".")) < frozenSystem ? readVersion(system) : {};
}

const frozenSystem = 18.6;
