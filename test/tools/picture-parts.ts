import { tokens } from "../../src/look/tokens.ts";

/** Parts of pictures that are no pages of Waypost. */

type Conversation = {
  readonly sentence: string;
  readonly tool: string;
  readonly args: object;
  // The result of any tool.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly answer: any;
  readonly url: string;
  readonly picture: Buffer;
};

export function renderConversation(conversation: Conversation): string {
  const { sentence, tool, args, answer, url, picture } = conversation;
  const { code, message, approval, next } = answer.error;
  // The rest of the result repeats what the page shows.
  const shown = { error: { code, message, approval: { url: approval.url }, next } };
  return `<!doctype html><style>${tokens}${style}</style>
<main>
  <section class="chat">
    <p class="you">${sentence}</p>
    <div class="step"><h2>The assistant calls ${tool}</h2><pre>${write(args)}</pre></div>
    <div class="step"><h2>Waypost answers</h2><pre>${write(shown)}</pre></div>
  </section>
  <section class="window">
    <div class="bar"><i></i><i></i><i></i><span>${url.replace("https://", "")}</span></div>
    <img src="data:image/png;base64,${picture.toString("base64")}">
  </section>
</main>`;
}

const style = `
* { box-sizing: border-box; margin: 0; }
body { background: #e9ebf5; font: 15px/1.5 var(--font); color: var(--ink); }
main { display: grid; grid-template-columns: 388px 644px; gap: 24px; padding: 28px;
  align-items: start; }
.chat { display: grid; gap: 16px; }
.you { background: var(--accent); color: #fff; border-radius: 18px 18px 4px 18px;
  padding: 14px 18px; margin-left: 32px; }
.step { background: var(--card); border-radius: 4px 18px 18px 18px; padding: 14px 18px; }
h2 { font-size: 13px; color: var(--soft); margin-bottom: 6px; }
pre { font: 13px/1.6 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; }
.window { border-radius: 12px; overflow: hidden; border: 2px solid #d3d8e4; }
.bar { display: flex; gap: 7px; align-items: center; height: 40px; padding: 0 14px;
  background: #dfe3ec; }
.bar i { width: 11px; height: 11px; border-radius: 50%; background: #b7bdcb; }
.bar span { flex: 1; margin-left: 10px; padding: 2px 14px; border-radius: 8px; background: #fff;
  font-size: 12.5px; color: var(--soft); }
.window img { display: block; width: 640px; }
`;

function write(value: object): string {
  return JSON.stringify(value, undefined, 2).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/** The picture of the example link where it is shared: a bed of tulips in the sun. */
export function renderAd(): string {
  const colours = ["#f25f5c", "#ffb238", "#f78fb3", "#f25f5c", "#a66cff", "#ffb238", "#f78fb3"];
  const tulips = colours.map((colour, place) => {
    const x = 90 + place * 170 + (place % 2) * 20;
    const y = 330 + (place % 3) * 34;
    return (
      `<path d="M${x} ${y + 60}V630" stroke="#2f7d4f" stroke-width="14"/>` +
      `<path d="M${x} 600q-70-40-66-130q62 30 66 130q4-100 66-130q4 90-66 130" fill="#3c9a63"/>` +
      `<path d="M${x - 62} ${y - 70}q34 14 62-34q28 48 62 34q20 150-62 150t-62-150" ` +
      `fill="${colour}"/>`
    );
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630" width="1200" height="630">
    <rect width="1200" height="630" fill="#bfe6f7"/>
    <circle cx="960" cy="150" r="90" fill="#fff3b8"/>
    <path d="M0 420q300-140 640-40t560-60v310H0z" fill="#a9dcae"/>${tulips.join("")}</svg>`;
}
