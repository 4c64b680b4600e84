import { joinMarks, readLanguage, readVersion, type Marks } from "./marks.ts";

/** Reads a phone's properties from the headers of a browser's request, without a script. */
export function readRequest(agent: string, languages: string | undefined): Marks {
  const [first = ""] = (languages ?? "").split(/[,;]/, 1);
  return joinMarks(readAgent(agent), readLanguage(first));
}

/**
 * Reads the device and its system. An iPad that claims to be a Macintosh, and devices of other
 * makers, have no known properties.
 */
function readAgent(agent: string): Marks {
  const [, device] = /\((iPhone|iPad|iPod)\b/.exec(agent) ?? [];
  if (device === undefined) return {};
  return { device: device.toLowerCase(), ...readSystem(agent) };
}

/**
 * Reads the system's version. Since iOS 26, every browser reports system version 18_6 or 18_7, but
 * Safari's own version equals the system's. Older systems report the right version.
 */
function readSystem(agent: string): Marks {
  const [, safari] = /\bVersion\/(\d{1,3}(?:\.\d{1,3})?)/.exec(agent) ?? [];
  if (safari !== undefined) return readVersion(safari);
  const [, system = ""] = /\bOS (\d{1,3}(?:_\d{1,3})?)/.exec(agent) ?? [];
  return Number(system.replace("_", ".")) < frozenSystem ? readVersion(system) : {};
}

const frozenSystem = 18.6;
