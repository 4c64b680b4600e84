import type { TemplateSource } from "./page-input.ts";

/**
 * The template to begin with, and the page of a project that has none: one design, in what every
 * template may use.
 */
export const starter: TemplateSource = {
  body: `{% if platform == "ios" %}
  {% assign app = apps.ios.name | default: project.name %}
{% elsif platform == "android" %}
  {% assign app = apps.android.name | default: project.name %}
{% else %}
  {% assign app = project.name %}
{% endif %}
<main class="page">
  <article class="card">
    <div class="icon" aria-hidden="true">{{ app | strip | slice: 0 | upcase }}</div>
    <p class="project">{{ app }}</p>
    <h1 class="title">{{ link.social_title | default: link.name | default: project.name }}</h1>
    {% if link.social_description %}
    <p class="description">{{ link.social_description | truncate: 220, "…" }}</p>
    {% endif %}
    <div class="actions">
{% store_buttons %}
    </div>
  </article>
  <footer class="address">
    {{ link.address | remove_first: "https://" | remove_first: "http://" }}
  </footer>
</main>
`,
  css: `.page {
  --ink: #14151a;
  --quiet: #5d6172;
  --paper: #fffffff2;
  --edge: #1415140f;
  --sky: #f3f4fb;
  --glow-one: #8b7bff4d;
  --glow-two: #38c6f466;
  --glow-three: #ff9ec74d;
  --shade: 0 1px 2px #1b1f3b14, 0 24px 64px -16px #1b1f3b33;
  min-height: 100vh;
  min-height: 100svh;
  display: flex;
  flex-direction: column;
  align-items: center;
  justify-content: center;
  gap: 1.5rem;
  padding: max(1.25rem, env(safe-area-inset-top)) 1.25rem max(1.25rem, env(safe-area-inset-bottom));
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
  display: flex;
  flex-direction: column;
  align-items: center;
  padding: 2.75rem 2.25rem 2.25rem;
  text-align: center;
  background: var(--paper);
  border: 1px solid var(--edge);
  border-radius: 2rem;
  box-shadow: var(--shade);
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
  background: linear-gradient(145deg, #7c6cff, #4a5cf5 52%, #22a6e8);
  border-radius: 1.5rem;
  box-shadow: 0 10px 24px -8px #4a5cf599, inset 0 1px 0 #ffffff59;
}

.project {
  margin: 0;
  color: var(--quiet);
  font-size: 0.9375rem;
  font-weight: 500;
  overflow-wrap: anywhere;
}

.title {
  margin: 0.375rem 0 0;
  font-size: 1.75rem;
  font-weight: 700;
  line-height: 1.2;
  letter-spacing: -0.021em;
  overflow-wrap: anywhere;
  text-wrap: balance;
}

.description {
  margin: 0.875rem 0 0;
  color: var(--quiet);
  font-size: 1.0625rem;
  line-height: 1.5;
  overflow-wrap: anywhere;
  text-wrap: pretty;
}

.actions {
  width: 100%;
  margin-top: 2rem;
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
  .page {
    justify-content: space-between;
  }

  .card {
    flex: 1;
    padding: 0;
    background: none;
    border: 0;
    box-shadow: none;
  }

  .icon {
    margin-top: auto;
  }

  .actions {
    margin-top: auto;
    padding-top: 2rem;
  }

  .title {
    font-size: 2rem;
  }
}

@media (prefers-color-scheme: dark) {
  .page {
    --ink: #f5f6fa;
    --quiet: #a3a8ba;
    --paper: #171922e6;
    --edge: #ffffff14;
    --sky: #0c0d13;
    --glow-one: #6a5bff40;
    --glow-two: #1b8fc938;
    --glow-three: #c34f8f2e;
    --shade: 0 24px 64px -16px #000000b3;
  }
}
`,
};
