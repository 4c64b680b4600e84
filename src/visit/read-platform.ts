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

/**
 * The app within which a browser says that it shows the page, by the name that people know, where
 * such browsers keep pages from opening other apps; undefined for every other browser.
 */
export function readInAppBrowser(agent: string): string | undefined {
  return browsers.find(({ pattern }) => pattern.test(agent))?.name;
}

/** Of two that fit, the first counts: Meta's other apps name Facebook's browser as well. */
const browsers: readonly { readonly name: string; readonly pattern: RegExp }[] = [
  { name: "Instagram", pattern: /\bInstagram\b/ },
  { name: "Threads", pattern: /\bBarcelona \d/ },
  { name: "Messenger", pattern: /\bFBAN\/Messenger|\bFB_IAB\/(?:MESSENGER|Orca)/ },
  { name: "Facebook", pattern: /\bFBA[NV]\/|\bFB_IAB\// },
  { name: "TikTok", pattern: /\b(?:musical_ly|trill_|BytedanceWebview|TikTok)/ },
  { name: "LinkedIn", pattern: /\bLinkedInApp\b/ },
  { name: "WeChat", pattern: /\bMicroMessenger\// },
  { name: "Weibo", pattern: /\bWeibo\b/ },
  { name: "QQ", pattern: /\bQQ\/\d/ },
];
