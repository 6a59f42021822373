// Starts Swagger UI over the plain page of the API definition, which stays where scripts do not run.
"use strict";
(() => {
  const place = document.getElementById("swagger");
  if (!place || !window.SwaggerUIBundle) return;
  SwaggerUIBundle({
    url: place.dataset.url,
    domNode: place,
    deepLinking: true,
    defaultModelsExpandDepth: -1,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
    onComplete: () => { document.getElementById("plain").hidden = true; },
  });
})();
