import type { Platform } from "./decide-visit.ts";

/** Browsers send less, and each search of a longer text would cost every visitor's time. */
const agent_characters = 512;

/** What a browser or a program calls itself, as far as it is classified. */
export function readAgent(headers: { readonly "user-agent"?: string | undefined }): string {
  return (headers["user-agent"] ?? "").slice(0, agent_characters);
}

/**
 * The system that a browser says it runs on. Safari on an iPad says that it is a Macintosh unless
 * it is told otherwise, and no header tells the two apart: it counts as one. Other browsers of an
 * iPad say so too, by names that they have on no Macintosh.
 */
export function readPlatform(agent: string): Platform {
  // The last phones of Windows said that they were everything at once.
  if (agent.includes("Windows Phone")) return "desktop";
  if (/iPhone|iPad|iPod|\b(?:CriOS|FxiOS|EdgiOS|OPiOS)\//.test(agent)) return "ios";
  return /Android/i.test(agent) ? "android" : "desktop";
}
