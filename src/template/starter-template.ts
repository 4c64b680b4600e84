import { colours, visitColours, visitSizes } from "../look/tokens.ts";
import type { TemplateSource } from "./page-input.ts";

/** Builds the starter template, which is the page of projects without their own. */

const { accent, card, ground, ink, line, side, soft, well } = colours;
const { "accent-start": start, "accent-end": end } = visitColours;
const glows = ["glow-one", "glow-two", "glow-three", "shade"] as const;

/**
 * The starter template's CSS. It begins with variables for colors and sizes, which other templates
 * can change and our other pages can use.
 */
const starterStyle = `.page {
  --ink: ${ink[0]};
  --quiet: ${soft[0]};
  --paper: ${card[0]};
  --tint: ${well[0]};
  --edge: ${line[0]};
  --sky: ${side[0]};
  --accent: linear-gradient(145deg, ${start[0]}, ${accent[0]} 52%, ${end[0]});
${writeGlows(0, "  ")}
${writeSizes("  ")}
  min-height: 100vh;
  min-height: 100svh;
  display: flex;
  flex-direction: column;
  align-items: center;
  justify-content: center;
  gap: var(--space);
  padding:
    max(var(--space), env(safe-area-inset-top)) max(var(--space), env(safe-area-inset-right))
    max(var(--space), env(safe-area-inset-bottom)) max(var(--space), env(safe-area-inset-left));
  color: var(--ink);
  background:
    radial-gradient(42rem 32rem at 12% 0%, var(--glow-one), transparent 70%),
    radial-gradient(40rem 34rem at 100% 18%, var(--glow-two), transparent 68%),
    radial-gradient(46rem 34rem at 70% 110%, var(--glow-three), transparent 70%),
    var(--sky);
}

.card {
  width: 100%;
  max-width: 27rem;
  padding: 2.25rem;
  text-align: center;
  background: var(--paper);
  border: 1px solid var(--edge);
  border-radius: var(--radius);
  box-shadow: var(--shade);
}

.about {
  display: flex;
  flex-direction: column;
  align-items: center;
  min-width: 0;
}

.picture {
  position: relative;
  width: 100%;
  margin-bottom: var(--space);
  overflow: hidden;
  line-height: 0;
  background: var(--tint);
  border-radius: var(--radius-inner);
}

.picture-front {
  position: relative;
  width: 100%;
  aspect-ratio: 1200 / 630;
  object-fit: contain;
}

.picture-front::after {
  content: "";
  position: absolute;
  inset: 0;
  background: var(--accent);
}

.picture-behind {
  position: absolute;
  inset: 0;
  width: 100%;
  height: 100%;
  object-fit: cover;
  filter: blur(24px);
}

.icon {
  width: 5.5rem;
  height: 5.5rem;
  display: flex;
  align-items: center;
  justify-content: center;
  margin-bottom: 1.125rem;
  color: #fff;
  font-size: 2.5rem;
  font-weight: 700;
  line-height: 1;
  background: var(--accent);
  border-radius: 1.5rem;
  box-shadow: inset 0 1px 0 #ffffff59;
}

.icon:empty {
  display: none;
}

.project {
  max-width: 100%;
  margin: 0 0 0.375rem;
  color: var(--quiet);
  font-size: var(--text-small);
  font-weight: 500;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.title {
  margin: 0;
  display: -webkit-box;
  overflow: hidden;
  font-size: var(--text-title);
  font-weight: 700;
  line-height: 1.2;
  overflow-wrap: anywhere;
  text-wrap: balance;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 4;
}

.description {
  margin: 0.75rem 0 0;
  display: -webkit-box;
  overflow: hidden;
  color: var(--quiet);
  font-size: var(--text);
  line-height: 1.5;
  overflow-wrap: anywhere;
  text-wrap: pretty;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 5;
}

.actions {
  width: 100%;
  margin-top: 1.75rem;
}

.actions:empty {
  display: none;
}

.address {
  max-width: 27rem;
  color: var(--quiet);
  font-size: 0.8125rem;
  overflow-wrap: anywhere;
  text-align: center;
}

@media (max-width: 30rem) {
  .card {
    flex: 1;
    display: flex;
    flex-direction: column;
    padding: 0;
    background: none;
    border: 0;
    border-radius: 0;
    box-shadow: none;
  }

  .about {
    margin-block: auto;
  }

  .actions {
    margin-top: 0;
    padding-top: 1.5rem;
  }

  .title {
    -webkit-line-clamp: 3;
  }

  .description {
    -webkit-line-clamp: 4;
  }
}

@media (max-width: 30rem) and (max-height: 40rem) {
  .picture {
    width: 14rem;
  }

  .title {
    font-size: 1.5rem;
  }

  .description {
    -webkit-line-clamp: 2;
  }

  .card:has(.leave) .description {
    display: none;
  }
}

@media (min-width: 60rem) and (min-height: 30rem) {
  .card:has(.phone) {
    max-width: 56rem;
    display: grid;
    grid-template-columns: minmax(0, 1fr) 20rem;
    align-items: center;
    gap: 3rem;
    padding: 3rem;
  }

  .card:has(.phone) .actions {
    margin: 0;
  }
}

@media (orientation: landscape) and (max-height: 30rem) {
  .page {
    gap: 0.5rem;
    padding-block: 0.75rem;
  }

  .card {
    max-width: 52rem;
    display: grid;
    grid-template-columns: minmax(0, 1fr) auto;
    align-items: center;
    gap: 2rem;
    padding: 1.25rem 1.5rem;
  }

  .actions {
    width: 19rem;
    margin: 0;
  }

  .store-button {
    min-height: 2.75rem;
    padding: 0.5rem 1rem;
    font-size: 1rem;
  }

  .icon {
    width: 4rem;
    height: 4rem;
    margin-bottom: 0.75rem;
    font-size: 1.75rem;
    border-radius: 1.125rem;
  }

  .picture {
    width: 57vh;
    width: 57svh;
    max-width: 100%;
    margin-bottom: 0.75rem;
  }

  .title {
    font-size: 1.375rem;
    -webkit-line-clamp: 2;
  }

  .description {
    margin-top: 0.5rem;
    font-size: var(--text-small);
    -webkit-line-clamp: 2;
  }
}

@media (prefers-color-scheme: dark) {
  .page {
    --ink: ${ink[1]};
    --quiet: ${soft[1]};
    --paper: ${card[1]};
    --tint: ${well[1]};
    --edge: ${line[1]};
    --sky: ${ground[1]};
${writeGlows(1, "    ")}
  }
}
`;

function writeGlows(theme: 0 | 1, indent: string): string {
  return glows.map((name) => `${indent}--${name}: ${visitColours[name][theme]};`).join("\n");
}

function writeSizes(indent: string): string {
  const named = Object.entries(visitSizes);
  return named.map(([name, size]) => `${indent}--${name}: ${size};`).join("\n");
}

/** The starter template. It obeys the rules for all templates. */
export const starter: TemplateSource = {
  body: `{% if platform == "ios" %}
  {% assign app = apps.ios.name %}
{% elsif platform == "android" %}
  {% assign app = apps.android.name %}
{% else %}
  {% assign app = apps.ios.name | default: apps.android.name %}
{% endif %}
{% assign app = app | default: project.name | strip %}
{% assign title = link.name | strip %}
{% assign scheme = link.social_image_url | slice: 0, 8 | downcase %}
<main class="page">
  <article class="card">
    <div class="about">
      {% if scheme == "https://" %}
      <div class="picture" role="img" aria-label="{{ title }}">
        <img class="picture-behind" src="{{ link.social_image_url }}" alt="">
        <img class="picture-front" src="{{ link.social_image_url }}" alt="">
      </div>
      {% else %}
      <div class="icon" aria-hidden="true">{{ app | slice: 0 | upcase }}</div>
      {% endif %}
      {% if app != title %}
      <p class="project" dir="auto">{{ app }}</p>
      {% endif %}
      <h1 class="title" dir="auto">{{ title }}</h1>
      {% if link.social_description %}
      <p class="description" dir="auto">{{ link.social_description | truncate: 220, "…" }}</p>
      {% endif %}
    </div>
    <div class="actions">{% store_buttons %}</div>
  </article>
  <footer class="address" dir="ltr">
    {{ link.address | remove_first: "https://" | remove_first: "http://" }}
  </footer>
</main>
`,
  css: starterStyle,
};
