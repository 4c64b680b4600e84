import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { brotliDecompressSync } from "node:zlib";
import { icon } from "../../src/look/mark.ts";
import { launchBrowser, openLastingTab } from "../support/browser.ts";
import {
  iphone,
  linkOrigin,
  openExampleShop,
  publicUrl,
  type ExampleShop,
} from "./example-shop.ts";
import { openPublicProxy } from "./public-proxy.ts";
import { shrinkPng } from "./shrink-png.ts";
import { renderAd, renderConversation } from "./picture-parts.ts";

/** `npm run pictures` takes the pictures of README.md and docs/ from the built command. */

const folder = "docs/images";
const mostBytes = 150_000;
const sentence = "The May newsletter is on our blog now. Point its link at blog.example.com/may.";

const sizes = {
  start: { viewport: { width: 1280, height: 744 }, deviceScaleFactor: 1.5 },
  statistics: { viewport: { width: 1280, height: 818 } },
  phone: {
    viewport: { width: 390, height: 844 },
    userAgent: iphone,
    hasTouch: true,
    isMobile: true,
  },
  approval: { viewport: { width: 640, height: 400 }, deviceScaleFactor: 1.5 },
  conversation: { viewport: { width: 1112, height: 400 }, deviceScaleFactor: 1.5 },
  icon: { viewport: { width: 512, height: 512 } },
} as const satisfies Record<string, BrowserContextOptions>;

const fonts = await unpackFonts();
process.env["FONTCONFIG_FILE"] = join(fonts, "waypost.conf");
const browser = await launchBrowser();
try {
  await mkdir(folder, { recursive: true });
  await drawIcon();
  await takePictures();
} finally {
  await browser.close();
  await rm(fonts, { recursive: true });
}

async function takePictures(): Promise<void> {
  await using shop = await openExampleShop();
  await using proxy = await openPublicProxy({
    port: shop.port,
    origins: [publicUrl, linkOrigin],
    answerOther: (response) => {
      response.setHeader("content-type", "image/svg+xml").end(renderAd());
    },
  });
  const open = (options: BrowserContextOptions) =>
    openLastingTab({ ...options, proxy: { server: proxy.url }, ignoreHTTPSErrors: true });
  const phone = await open(sizes.phone);
  await phone.goto(`${linkOrigin}/spring`);
  await save(phone, "phone", { isPlain: false });
  await takeApproval(shop, open);
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await open({ ...sizes.start, colorScheme });
    await page.goto(publicUrl);
    await page.locator("#key").fill(shop.key);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Recent activity" }).waitFor();
    await save(page, colorScheme === "light" ? "start" : "start-dark");
    if (colorScheme === "dark") continue;
    await page.setViewportSize(sizes.statistics.viewport);
    await page.goto(`${publicUrl}/statistics`);
    await save(page, "statistics");
  }
}

/** The call and its result, next to the page where a person decides. */
async function takeApproval(
  shop: ExampleShop,
  open: (options: BrowserContextOptions) => Promise<Page>,
): Promise<void> {
  const args = { id: "newsletter", url: "https://blog.example.com/may" };
  const answer = await shop.callTool("update_link", args);
  const { url } = answer.structured.error.approval;
  const page = await open(sizes.approval);
  await page.goto(url);
  const card = await page.locator(".card").boundingBox();
  if (card === null) throw new Error("The approval page has no card.");
  // With the name above the card, and without the empty space around both.
  const clip = { x: 0, y: card.y - 56, width: sizes.approval.viewport.width };
  const height = Math.ceil(card.height) + 56 + 24;
  const picture = await page.screenshot({ fullPage: true, clip: { ...clip, height } });
  const call = { sentence, tool: "update_link", args, answer: answer.structured };
  const conversation = await openLastingTab(sizes.conversation);
  await conversation.setContent(renderConversation({ ...call, url, picture }));
  await save(conversation, "approval", { fullPage: true });
}

/** In the top folder, where the manifest of a bundle expects it. */
async function drawIcon(): Promise<void> {
  const page = await openLastingTab(sizes.icon);
  const style = "display:block;width:512px;height:512px";
  await page.setContent(`<body style="margin:0"><img style="${style}" src="${icon}"></body>`);
  await page.screenshot({ path: "icon.png", omitBackground: true });
}

/** Pages with gradients keep all colours. */
async function save(page: Page, name: string, { fullPage = false, isPlain = true } = {}) {
  const path = join(folder, `${name}.png`);
  const taken = await page.screenshot({ fullPage });
  const png = isPlain ? shrinkPng(taken) : taken;
  console.log(`${path}: ${png.length} bytes`);
  if (png.length > mostBytes) throw new Error(`${path} has more than ${mostBytes} bytes.`);
  await writeFile(path, png);
}

/** Uses the font of the browser's package, so that pictures look the same everywhere. */
async function unpackFonts(): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), "waypost-fonts-"));
  const packed = "test/node_modules/@sparticuz/chromium/bin/fonts.tar.br";
  await writeFile(join(place, "fonts.tar"), brotliDecompressSync(await readFile(packed)));
  execFileSync("tar", ["-xf", "fonts.tar"], { cwd: place });
  await writeFile(
    join(place, "waypost.conf"),
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>` +
      `<dir>${place}</dir><dir>/usr/share/fonts</dir>` +
      preferFont("system-ui", "Open Sans") +
      preferFont("monospace", "DejaVu Sans Mono") +
      "</fontconfig>",
  );
  return place;
}

function preferFont(family: string, preferred: string): string {
  return (
    `<alias binding="same"><family>${family}</family>` +
    `<prefer><family>${preferred}</family></prefer></alias>`
  );
}
