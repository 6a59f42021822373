"""readmaps.py BASE KEY: reads WMS, WMTS and vector tiles with their style in QGIS, as its dialogs do. Prints a line that begins with ok for each step; the
status is 1 when one fails, and 2 without QGIS."""
import os
import sys

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
try:
    from qgis.core import (Qgis, QgsApplication, QgsAuthMethodConfig, QgsCoordinateReferenceSystem, QgsMapRendererSequentialJob, QgsMapSettings,
                           QgsPointXY, QgsRaster, QgsRasterLayer, QgsRectangle, QgsVectorTileLayer)
    from qgis.PyQt.QtCore import QSize
    from qgis.PyQt.QtGui import QColor
except ImportError as e:
    print(e)
    sys.exit(2)

base, key = sys.argv[1:3]
QgsApplication.setPrefixPath("/usr", True)
app = QgsApplication([], False)
app.initQgis()
manager = QgsApplication.authManager()
manager.setMasterPassword("of this run only", True)
basic = QgsAuthMethodConfig("Basic")
basic.setName("grense")
basic.setConfig("username", "any")
basic.setConfig("password", key)
stored = manager.storeAuthenticationConfig(basic)
if not (stored[0] if isinstance(stored, tuple) else stored):
    print("the key was not stored")
    sys.exit(1)
auth = "&authcfg=" + basic.id()
failed = 0


def check(what, right, *more):
    global failed
    failed += not right
    print("ok" if right else "failed", what, *more)


def colours(layer, crs, box):
    """The number of colours in a picture of a layer."""
    s = QgsMapSettings()
    s.setLayers([layer])
    s.setDestinationCrs(QgsCoordinateReferenceSystem(crs))
    s.setExtent(QgsRectangle(*box))
    s.setOutputSize(QSize(300, 300))
    s.setBackgroundColor(QColor(255, 255, 255))
    job = QgsMapRendererSequentialJob(s)
    job.start()
    job.waitForFinished()
    if job.errors():
        print([e.message for e in job.errors()])
        return 0
    img = job.renderedImage()
    return len({img.pixel(x, y) for x in range(0, 300, 3) for y in range(0, 300, 3)})


print("QGIS", Qgis.QGIS_VERSION)
south, mercator = (200000, 6500000, 500000, 6800000), (800000, 8000000, 1500000, 8700000)
for version, style in (("1.3.0", "default"), ("1.1.1", "dark")):
    for crs, box in (("EPSG:25833", south), ("EPSG:4258", (9, 59, 11, 60)), ("EPSG:3857", mercator)):
        layer = QgsRasterLayer(f"crs={crs}&format=image/png&layers=kommuner&styles={style}&version={version}&url={base}/wms{auth}", "wms", "wms")
        n = colours(layer, crs, box) if layer.isValid() else 0
        check(f"WMS {version} {crs}", n > 20, n, layer.error().message())
    if version == "1.3.0":
        layer = QgsRasterLayer(f"crs=EPSG:25833&format=image/png&layers=kommuner&styles=default&url={base}/wms{auth}", "wms", "wms")
        found = layer.dataProvider().identify(QgsPointXY(262000, 6649000), QgsRaster.IdentifyFormatText, QgsRectangle(*south), 300, 300)
        check("WMS GetFeatureInfo", found.isValid() and "Oslo" in str(found.results()), found.results())
for grid, crs, box in (("utm33n", "EPSG:25833", south), ("WebMercatorQuad", "EPSG:3857", mercator),
                       ("EuropeanETRS89_LAEAQuad", "EPSG:3035", (4200000, 4000000, 4600000, 4400000)), ("WorldCRS84Quad", "OGC:CRS84", (9, 59, 11, 60))):
    layer = QgsRasterLayer(f"crs={crs}&format=image/png&layers=kommuner&styles=default&tileMatrixSet={grid}"
                           f"&url={base}/wmts?SERVICE%3DWMTS%26REQUEST%3DGetCapabilities{auth}", "wmts", "wms")
    n = colours(layer, crs, box) if layer.isValid() else 0
    check("WMTS " + grid, n > 20, n, layer.error().message())
layer = QgsVectorTileLayer(f"styleUrl={base}/style&type=xyz&url={base}/tiles/WebMercatorQuad/{{z}}/{{y}}/{{x}}&zmax=14&zmin=0{auth}", "tiles")
message, loaded = layer.loadDefaultStyle()
styles = len(layer.renderer().styles()) if loaded else 0
n = colours(layer, "EPSG:3857", mercator) if layer.isValid() else 0
check("vector tiles with the style", n > 20 and styles > 3, n, styles, message)
sys.exit(1 if failed else 0)
